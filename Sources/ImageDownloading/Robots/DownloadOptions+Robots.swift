extension DownloadOptions {
  /// How a `robots.txt` is fetched for such downloads: as they are but for what makes them images, and without the job's own headers and
  /// hooks where it is not of their own scheme, host and port.
  func forRobots(isOwnOrigin: Bool) -> DownloadOptions {
    DownloadOptions(
      headers: isOwnOrigin
        ? headers.filter { !$0.name.equalsIgnoringCase("Range") && !$0.name.equalsIgnoringCase("Accept") } : [],
      accept: "text/plain, */*;q=0.5",
      userAgent: userAgent,
      headerFilter: isOwnOrigin ? headerFilter : nil,
      credentials: isOwnOrigin ? credentials : nil,
      handlesCookies: handlesCookies,
      allowsInvalidTLSCertificates: allowsInvalidTLSCertificates,
      connection: connection,
      timeout: timeout,
      connectTimeout: connectTimeout,
      stallTimeout: stallTimeout,
      retries: retries,
      backoff: backoff,
      retryAfterMaximum: retryAfterMaximum,
      // At least so many are to be followed (RFC 9309, section 2.3.1.2).
      redirects: 5,
      acceptStatus: Set(200...299),
      // Of a larger file the first chunk is read.
      maxBytes: .max,
      streamAbove: RobotsRules.maximumBytes,
      chunkBytes: RobotsRules.maximumBytes,
      requestModifier: isOwnOrigin ? requestModifier : nil
    )
  }
}
