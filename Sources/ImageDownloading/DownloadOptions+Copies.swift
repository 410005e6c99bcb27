extension DownloadOptions {
  /// The same options, but that bodies of any size are handed over whole.
  public var deliveringWholeBodies: DownloadOptions {
    streamAbove == .max ? self : copy(streamAbove: .max)
  }

  /// The same options, but that bodies of any size are handed over in chunks of that many bytes while they arrive.
  public func deliveringChunks(of bytes: Int) -> DownloadOptions { copy(streamAbove: 0, chunkBytes: bytes) }

  /// The same options, but that `judge` stops transfers by their first bytes.
  public func judged(by judge: PrefixJudge) -> DownloadOptions { copy(prefixJudge: judge) }

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
