extension DownloadOptions {
  /// How a `robots.txt` is fetched for such downloads: as they are but for what makes them images, and without anything of the job's own
  /// where it is not of their own scheme, host and port.
  func forRobots(isOwnOrigin: Bool) -> DownloadOptions {
    (isOwnOrigin ? self : forOtherOrigin).with {
      $0.fetchText(accept: "text/plain, */*;q=0.5")
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
