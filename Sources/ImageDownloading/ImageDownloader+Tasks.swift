public import ImagePrimitives
import ImageURLs

/// One image at a time, for callers that await it.
extension ImageDownloader {
  /// Starts a download of its own, beside those of all clients and within the same limits. After ``shutDown()`` this is a
  /// programmer's error and traps.
  ///
  /// - Parameters:
  ///   - url: as written; it is normalised first, unless a loader takes it. One that is no http or https URL fails as
  ///     `invalid-url` at once, without the network.
  ///   - priority: its class, which ``DownloadTask/priority`` can change.
  ///   - options: how it is fetched. Downloads of one URL with equal options share a transfer.
  ///   - validators: makes the request conditional; a 304 gives an image with that status and an empty body.
  ///   - progressInterval: the least time between two reports of progress.
  public func download(
    _ url: String,
    priority: Priority = .normal,
    options: DownloadOptions = DownloadOptions(),
    validators: Validators? = nil,
    progressInterval: Duration = .zero
  ) -> DownloadTask {
    let (client, receiver) = taskClient()
    let (id, state) = receiver.add()
    let task = DownloadTask(id: id, priority: priority, state: state, client: client, downloader: self)
    do throws(InvalidURL) {
      let download = Download(
        id: id,
        url: try normalized(url),
        priority: priority,
        options: prepared(options),
        validators: validators,
        wantsProgress: true,
        progressInterval: progressInterval,
        wantsDetails: true
      )
      client.submit([download])
    } catch {
      receiver.receive([.failed(id: id, Failure(.invalidURL, message: error.message), TransferSummary())])
    }
    return task
  }

  /// Downloads one image whole; where the calling task is cancelled, so is the download. The parameters are those of
  /// ``download(_:priority:options:validators:progressInterval:)``.
  public func data(
    from url: String,
    priority: Priority = .normal,
    options: DownloadOptions = DownloadOptions(),
    validators: Validators? = nil
  ) async throws(DownloadError) -> DownloadedImage {
    try await download(url, priority: priority, options: options, validators: validators).value
  }

  private func normalized(_ url: String) throws(InvalidURL) -> [UInt8] {
    let written = Array(url.utf8)
    if loaders.contains(where: { $0.canLoad(url) }) { return written }
    var bytes: [UInt8] = []
    _ = try written.withRawBytes { written throws(InvalidURL) in
      try URLNormalizer().normalize(written, relativeTo: nil, into: &bytes)
    }
    return bytes
  }
}
