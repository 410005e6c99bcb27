extension DownloadOptions {
  /// How a `robots.txt` is fetched for such downloads: as they are but for what makes them images, and without the job's own headers and
  /// hooks where it is not of their own scheme, host and port.
  func forRobots(isOwnOrigin: Bool) -> DownloadOptions {
    with {
      $0.fetchText(accept: "text/plain, */*;q=0.5")
      if !isOwnOrigin {
        $0.headers = []
        $0.headerFilter = nil
        $0.credentials = nil
        $0.requestModifier = nil
      }
      $0.respectsRobots = false
      // At least so many are to be followed (RFC 9309, section 2.3.1.2).
      $0.redirects = 5
      $0.acceptStatus = Set(200...299)
      // Of a larger file the first chunk is read.
      $0.maxBytes = .max
      $0.streamAbove = RobotsRules.maximumBytes
      $0.chunkBytes = RobotsRules.maximumBytes
    }
  }
}
