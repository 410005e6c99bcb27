package import ImageDownloading
package import ImagePrimitives
package import Manifests

/// A job's manifests, open for being read in the job's order.
package final class JobManifests {
  package let reader: ManifestReader
  /// Fetches manifests by URL; nil if no request is made.
  private let fetcher: JobManifestFetcher?

  /// Opens the manifests of `job`; those with a URL are fetched when they are read.
  ///
  /// - Parameters:
  ///   - spoolDirectory: where rows wait that are not read in the order in which they stand.
  ///   - makesRequests: without, a manifest with a URL throws.
  ///   - now: when `newer-than` counts from.
  package init(_ job: Job, spoolDirectory: String, makesRequests: Bool, now: Timestamp) throws(JobError) {
    fetcher = makesRequests ? JobManifestFetcher(job.manifestDownloadOptions, spoolDirectory: spoolDirectory) : nil
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

  /// Lets manifests be fetched by `downloader` while `body` reads them.
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
  /// The absolute path of the file in which entries of a manifest stand: `jobFile` for those that stand there; nil if they
  /// stand in none.
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
