package import ImageCaching
package import ImageManaging
package import Base
import Lists
import Reports

/// The images of a job's lists: URLs as written, with their identities in the cache.
///
/// Can be iterated once. Skips entries by `include` and `exclude`, and counts invalid URLs.
package final class ListImages: Sequence, IteratorProtocol {
  private static let batchEntryCount = 4096

  private let job: Job
  private let lists: JobLists
  private let isExport: Bool
  /// The contexts that identify images as the job's runs do: of all hosts, and of some.
  private let context: LoadContext
  private let contextsOfHosts: [HostPattern: LoadContext]
  private var batch = EntryBatch()
  private var index = 0
  /// The remaining images of the entry before ``index``, in reverse order.
  private var waiting: [FlatImage] = []

  package private(set) var invalidLines = 0
  /// The reason why reading the lists failed; nil if it didn't.
  package private(set) var failure: JobError?

  /// Opens the lists of `job` for an import from a flat folder into `cache`. Throws if one can't be read or must be fetched, or
  /// if the job has more than one variant or edge, since a file doesn't show which one it belongs to.
  package init(_ job: Job, for cache: ImageCache, time: TimeSource = .system) throws(JobError) {
    let variants = job.requestVariants.count
    if variants > 1 { throw .severalImages(perEntry: variants) }
    let now = time.wall()
    lists = try JobLists(job.inOrder, spoolDirectory: cache.configuration.directory, makesRequests: false, now: now)
    (context, contextsOfHosts) = job.contexts(in: cache, at: now)
    self.job = job
    isExport = false
  }

  /// Opens the lists of `job` for an export from `cache`: for each entry, the images that runs of the job store, one for each
  /// variant and edge, and their transformed versions. Lists with a URL are fetched, within ``fetching(with:_:)``. Throws if a
  /// list can't be read.
  package init(stored job: Job, in cache: ImageCache, time: TimeSource = .system) throws(JobError) {
    let now = time.wall()
    lists = try JobLists(job.inOrder, spoolDirectory: temporaryFolder(), makesRequests: true, now: now)
    (context, contextsOfHosts) = job.contexts(in: cache, at: now)
    self.job = job
    isExport = true
  }

  /// Lets the downloader of `manager` fetch manifests while `body` iterates over the images.
  package func fetching<Result, Failure: Error>(
    with manager: ImageManager,
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try lists.fetching(with: manager.downloader, body)
  }

  package var warnings: [String] { lists.source.warnings }

  /// Returns the next image; nil at the end, or if reading the lists failed.
  package func next() -> FlatImage? {
    if let image = waiting.popLast() { return image }
    while failure == nil, index < batch.entries.count || refill() {
      let entry = batch.entry(index)
      index += 1
      switch entry.state {
      case .good:
        waiting = images(of: entry).reversed()
        return waiting.popLast()
      case .filtered: break
      case .invalid: invalidLines += 1
      }
    }
    return nil
  }

  private func refill() -> Bool {
    batch.removeAll()
    index = 0
    do throws(ListError) {
      return try lists.source.next(&batch, maximum: Self.batchEntryCount)
    } catch {
      failure = .list(error)
      return false
    }
  }

  private func images(of entry: Entry) -> [FlatImage] {
    let url = String(decoding: entry.requestURL, as: UTF8.self)
    let host = entry.text[entry.hostRange]
    let context = contextsOfHosts.value(of: host, isSecure: entry.parts.isSecure) ?? context
    do {
      // The plain one is the first, and the only one if there are no variants.
      let identities = try ImageIdentity.identities(of: url, by: context)
      let ways = identities.suffix(Swift.max(1, identities.count - 1))
      return ways.map { identity in
        let stored = isExport ? job.transformedIdentity(of: identity) : nil
        return FlatImage(url: entry.writtenURL, identity: stored ?? identity, id: entry.note?.id)
      }
    } catch {
      preconditionFailure("a URL in normal form is one: \(error.message)")
    }
  }
}

extension Job {
  fileprivate func contexts(in cache: ImageCache, at time: Timestamp) -> (LoadContext, [HostPattern: LoadContext]) {
    (context(in: cache, at: time), hostRules.mapValues { applying($0).context(in: cache, at: time) })
  }

  fileprivate var inOrder: Job {
    var job = self
    job.prefetch.order = .fifo
    return job
  }
}
