import ImageCaching
import ImageDownloading
import Base
import Lists
import ImageManaging
import Reports

/// A job's open lists, to be read in the job's order.
final class JobLists {
  let source: any EntrySource
  /// Fetches lists by URL; nil if no requests are made.
  private let fetcher: JobListFetcher?
  private let copies: ListCopies?
  private let isOfCommandLine: Bool

  /// Opens the lists of `job`; those with a URL are fetched when they are read, or throw unless it `makesRequests`.
  ///
  /// - Parameters:
  ///   - spoolDirectory: the folder for rows that aren't read in the order of the lists.
  ///   - cache: keeps copies of fetched lists; nil: none are kept.
  init(_ job: Job, spoolDirectory: String, makesRequests: Bool, now: Timestamp, cache: ImageCache? = nil) throws(JobError) {
    isOfCommandLine = job.file == nil
    if let planned = job.plannedEntries {
      (fetcher, copies) = (nil, nil)
      source = try Self.open(planned)
      return
    }
    // With cookies, a response depends on earlier ones.
    copies = job.request.download.handlesCookies ? nil : cache.map { ListCopies(in: $0) }
    fetcher = makesRequests ? JobListFetcher(job, spoolDirectory: spoolDirectory, copies: copies) : nil
    do throws(ListError) {
      source = try ListReader(
        job.manifests.map { $0.readable(now: now, inlineName: job.file == nil ? "command line" : "urls") },
        order: job.prefetch.order,
        spoolDirectory: spoolDirectory,
        fetcher: fetcher,
        shard: job.shard
      )
    } catch {
      throw .list(job.namingOptions(in: error))
    }
  }

  private static func open(_ planned: Job.PlannedEntries) throws(JobError) -> ShardEntries {
    do throws(ListError) {
      return try ShardEntries(
        path: planned.path,
        lists: planned.lists.map { ($0.name, $0.file) },
        count: planned.count,
        list: ListFingerprint(entries: planned.all.entries, sum: planned.all.fingerprint)
      )
    } catch {
      // Another machine may have the file.
      throw .plan(error)
    }
  }

  /// Warnings about the lists so far, one sentence each.
  var warnings: [String] {
    let warnings = isOfCommandLine ? source.warnings.map(Job.namingOptions) : source.warnings
    return warnings + [copies?.failure].compactMap(\.self)
  }

  /// Lets `downloader` fetch lists while `body` reads them.
  func fetching<Result, Failure: Error>(
    with downloader: ImageDownloader,
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    fetcher?.start(with: downloader)
    defer { fetcher?.stop() }
    return try body()
  }
}

extension Job {
  /// The errors of lists that a run finds before its first request, such as missing files; pipes aren't read.
  package func listErrors() -> [JobError] {
    manifests.filter { !$0.isStream }.compactMap { list in
      var job = self
      job.manifests = [list]
      do throws(JobError) {
        let makesRequests = cache.mode != .only
        _ = try JobLists(job, spoolDirectory: temporaryFolder(), makesRequests: makesRequests, now: TimeSource.system.wall())
        return nil
      } catch {
        return error
      }
    }
  }
}

extension EntrySource {
  /// The absolute path of the file with the entries of a list, which is `jobFile` for inline ones; nil if they aren't in a file.
  func file(ofManifest index: Int, jobFile: String?) -> String? {
    switch location(ofManifest: index) {
    case .file(let path): JobPath(path, in: "/").normalized
    case .inline: jobFile
    case .elsewhere: nil
    }
  }
}

extension Job {
  /// The options of lists on the command line by what messages say of keys; any other key is set by `--set manifests.KEY`.
  private static let listOptions = [
    ("columns.url", "--url-column"), ("columns.id", "--id-column"), ("base-url", "--base-url"), ("pages: true", "--pages"),
    ("pages: false", "--no-pages"), ("crawl.pages", "--set manifests.crawl.pages=COUNT"),
    ("crawl.same-site: false", "--set manifests.crawl.same-site=false"), ("include: [\"*\"]", "--include '*'"),
    ("with include", "--include"), ("format: csv", "--format csv"), ("set its format", "--format"),
    ("use 'page' for a page's images", "--format page"),
  ]

  /// A message about a list of the command line, with the options beside the keys.
  static func namingOptions(_ message: String) -> String {
    listOptions.reduce(message) { message, names in
      message.replacing(names.0, with: "\(names.0) (\(names.1))", maxReplacements: 1)
    }
  }

  func namingOptions(in error: ListError) -> ListError {
    guard file == nil else { return error }
    return ListError(manifest: error.manifest, line: error.line, message: Self.namingOptions(error.message))
  }

  var absoluteFile: String? { file.map { JobPath($0, in: currentFolder()).normalized } }
}
