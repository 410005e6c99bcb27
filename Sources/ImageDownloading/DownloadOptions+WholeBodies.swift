extension DownloadOptions {
  /// The same options, but that bodies of any size are handed over whole.
  public var deliveringWholeBodies: DownloadOptions {
    if streamAbove == .max { return self }
    return DownloadOptions(
      method: method,
      headers: headers,
      accept: accept,
      userAgent: userAgent,
      headerFilter: headerFilter,
      credentials: credentials,
      handlesCookies: handlesCookies,
      allowsInvalidTLSCertificates: allowsInvalidTLSCertificates,
      timeout: timeout,
      connectTimeout: connectTimeout,
      stallTimeout: stallTimeout,
      retries: retries,
      backoff: backoff,
      redirects: redirects,
      acceptStatus: acceptStatus,
      acceptContentTypes: acceptContentTypes,
      maxBytes: maxBytes,
      streamAbove: .max,
      requestModifier: requestModifier,
      responseModifier: responseModifier,
      prefixJudge: prefixJudge,
      decryptor: decryptor
    )
  }
}
