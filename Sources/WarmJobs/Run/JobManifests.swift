package import ImageCaching
package import ImageDownloading
package import ImagePrimitives
package import Manifests

/// A job's open manifests, to be read in the job's order.
package final class JobManifests {
  package let reader: ManifestReader
  /// Fetches manifests by URL; nil if no requests are made.
  private let fetcher: JobManifestFetcher?
  private let copies: ListCopies?

  /// Opens the manifests of `job`; those with a URL are fetched when they are read.
  ///
  /// - Parameters:
  /// - spoolDirectory: the folder for rows that aren't read in the order of the lists.
  ///   - makesRequests: if false, a manifest with a URL throws.
  ///   - now: the time from which `newer-than` counts.
  ///   - cache: keeps copies of fetched lists; nil: none are kept.
  package init(
    _ job: Job,
    spoolDirectory: String,
    makesRequests: Bool,
    now: Timestamp,
    cache: ImageCache? = nil
  ) throws(JobError) {
    // With cookies, a response depends on earlier ones.
    copies = job.request.download.handlesCookies ? nil : cache.map { ListCopies(in: $0) }
    let options = job.manifestDownloadOptions
    fetcher = makesRequests ? JobManifestFetcher(options, spoolDirectory: spoolDirectory, copies: copies) : nil
    do throws(ManifestError) {
      reader = try ManifestReader(
        job.manifests.map { $0.readable(now: now, inlineName: job.file == nil ? "command line" : "urls") },
        order: job.prefetch.order,
        spoolDirectory: spoolDirectory,
        fetcher: fetcher,
        shard: job.shard
      )
    } catch {
      throw .manifest(error)
    }
  }

  /// Warnings about the manifests so far, one sentence each.
  package var warnings: [String] { reader.warnings + [copies?.failure].compactMap(\.self) }

  /// Lets `downloader` fetch manifests while `body` reads them.
  package func fetching<Result, Failure: Error>(
    with downloader: ImageDownloader,
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    fetcher?.start(with: downloader)
    defer { fetcher?.stop() }
    return try body()
  }
}

extension ManifestReader {
  /// The absolute path of the file with the entries of a manifest, which is `jobFile` for inline ones; nil if they
  /// aren't in a file.
  package func file(ofManifest index: Int, jobFile: String?) -> String? {
    switch location(ofManifest: index) {
    case .file(let path): JobPath(path, in: "/").normalized
    case .inline: jobFile
    case .elsewhere: nil
    }
  }
}

extension Job {
  /// The absolute path of the job file; nil if there is none.
  package var absoluteFile: String? { file.map { JobPath($0, in: currentFolder()).normalized } }
}
