extension DownloadOptions {
  /// The same options, but that bodies of any size are handed over whole.
  public var deliveringWholeBodies: DownloadOptions {
    streamAbove == .max ? self : with { $0.streamAbove = .max }
  }

  /// The same options, but that bodies of any size are handed over in chunks of that many bytes while they arrive.
  public func deliveringChunks(of bytes: Int) -> DownloadOptions {
    with {
      $0.streamAbove = 0
      $0.chunkBytes = max(1, bytes)
    }
  }

  /// The same options, but that `judge` stops transfers by their first bytes.
  public func judged(by judge: PrefixJudge) -> DownloadOptions { with { $0.prefixJudge = judge } }

  /// The same options for a URL of another scheme, host and port, which gets nothing of the job's own, as where a redirect leads
  /// there: no headers, the downloader's own neither, no credentials, cookies or client certificate, and no hook sees its requests.
  public var forOtherOrigin: DownloadOptions { isForOtherOrigin ? self : with { $0.isForOtherOrigin = true } }

  /// The same connection, patience and secrets for a text that is no image: all of it by GET with status 200, whatever it begins
  /// with, in chunks where it is large.
  public func fetchingText(accept: String, maxBytes: Int) -> DownloadOptions {
    with {
      $0.fetchText(accept: accept)
      $0.acceptStatus = [200]
      $0.maxBytes = maxBytes
      $0.streamAbove = 128 << 10
      $0.chunkBytes = 256 << 10
    }
  }
}

extension DownloadOptions.Values {
  /// Asks for a whole text, whatever its type, in place of an image.
  mutating func fetchText(accept: String) {
    method = .get
    headers.removeAll { $0.name.equalsIgnoringCase("Accept") || $0.name.equalsIgnoringCase("Range") }
    self.accept = accept
    acceptContentTypes = nil
    checksRemoteCache = false
    responseModifier = nil
    prefixJudge = nil
    decryptor = nil
  }
}
