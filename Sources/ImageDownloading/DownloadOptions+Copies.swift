extension DownloadOptions {
  /// The same options, but that bodies of any size are handed over whole.
  public var deliveringWholeBodies: DownloadOptions {
    streamAbove == .max ? self : copy(streamAbove: .max)
  }

  /// The same options, but that bodies of any size are handed over in chunks of that many bytes while they arrive.
  public func deliveringChunks(of bytes: Int) -> DownloadOptions { copy(streamAbove: 0, chunkBytes: bytes) }

  /// The same options, but that `judge` stops transfers by their first bytes.
  public func judged(by judge: PrefixJudge) -> DownloadOptions { copy(prefixJudge: judge) }

  /// The same connection, patience and secrets for a text that is no image: all of it by GET with status 200, whatever it begins
  /// with, in chunks where it is large.
  public func fetchingText(accept: String, maxBytes: Int) -> DownloadOptions {
    DownloadOptions(
      headers: headers.filter { !["accept", "range"].contains($0.name.lowercased()) },
      accept: accept,
      userAgent: userAgent,
      headerFilter: headerFilter,
      credentials: credentials,
      handlesCookies: handlesCookies,
      allowsInvalidTLSCertificates: allowsInvalidTLSCertificates,
      connection: connection,
      timeout: timeout,
      connectTimeout: connectTimeout,
      stallTimeout: stallTimeout,
      retries: retries,
      backoff: backoff,
      retryAfterMaximum: retryAfterMaximum,
      redirects: redirects,
      maxBytes: maxBytes,
      respectsRobots: respectsRobots,
      requestModifier: requestModifier
    )
  }

  private func copy(streamAbove: Int? = nil, chunkBytes: Int? = nil, prefixJudge: PrefixJudge? = nil) -> DownloadOptions {
    DownloadOptions(
      method: method,
      headers: headers,
      accept: accept,
      userAgent: userAgent,
      headerFilter: headerFilter,
      credentials: credentials,
      handlesCookies: handlesCookies,
      allowsInvalidTLSCertificates: allowsInvalidTLSCertificates,
      connection: connection,
      timeout: timeout,
      connectTimeout: connectTimeout,
      stallTimeout: stallTimeout,
      retries: retries,
      backoff: backoff,
      retryAfterMaximum: retryAfterMaximum,
      redirects: redirects,
      acceptStatus: acceptStatus,
      acceptContentTypes: acceptContentTypes,
      maxBytes: maxBytes,
      streamAbove: streamAbove ?? self.streamAbove,
      chunkBytes: chunkBytes ?? self.chunkBytes,
      respectsRobots: respectsRobots,
      checksRemoteCache: checksRemoteCache,
      requestModifier: requestModifier,
      responseModifier: responseModifier,
      prefixJudge: prefixJudge ?? self.prefixJudge,
      decryptor: decryptor
    )
  }
}
