public import ImageCaching
public import ImageManaging
public import ImagePrimitives
import ImageURLs
import Manifests
import Reports

/// The images that a job's manifests name: URLs as they are written, and what the cache knows them by.
///
/// It is gone through once. What `include` and `exclude` leave out is left out here too; lines that are no URL are counted.
public final class ManifestImages: Sequence, IteratorProtocol {
  private static let batchEntryCount = 4096

  private let job: Job
  private let manifests: JobManifests
  private let isExport: Bool
  /// How the job's runs ask for an entry, by which they know its image.
  private let context: LoadContext
  private var batch = EntryBatch()
  private var index = 0
  /// What is left of the entry before ``index``, the last first.
  private var waiting: [FlatImage] = []

  /// Lines so far that are no URL.
  public private(set) var invalidLines = 0
  /// Why the manifests broke off; nil if they did not.
  public private(set) var failure: JobError?

  /// Opens the manifests of `job` for an import out of a flat folder into `cache`.
  ///
  /// Throws if one cannot be read, where one would have to be fetched, and where the job has more than one variant or edge, of which a
  /// file doesn't tell.
  public init(_ job: Job, for cache: ImageCache, time: TimeSource = .system) throws(JobError) {
    let variants = job.loadVariants
    if variants.count > 1 { throw .severalImages(perEntry: variants.count) }
    let now = time.wall()
    manifests = try JobManifests(
      job.inOrder,
      spoolDirectory: cache.configuration.directory,
      makesRequests: false,
      now: now
    )
    context = job.context(variants: variants, in: cache, at: now)
    self.job = job
    isExport = false
  }

  /// Opens the manifests of `job` for an export out of `cache`: of each entry the images that runs of the job store, one for each variant
  /// and edge, and what its transform makes of them.
  ///
  /// Manifests with a URL are fetched, within ``fetching(with:_:)``. Throws if a manifest cannot be read.
  public init(stored job: Job, in cache: ImageCache, time: TimeSource = .system) throws(JobError) {
    let now = time.wall()
    manifests = try JobManifests(job.inOrder, spoolDirectory: temporaryFolder(), makesRequests: true, now: now)
    context = job.context(variants: job.loadVariants, in: cache, at: now)
    self.job = job
    isExport = true
  }

  /// Lets manifests be fetched by the downloader of `manager` while `body` goes through the images.
  public func fetching<Result, Failure: Error>(
    with manager: ImageManager,
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try manifests.fetching(with: manager.downloader, body)
  }

  /// What there is to tell of the manifests, a sentence each.
  public var warnings: [String] { manifests.reader.warnings }

  /// The next image; nil at the end, and where the manifests broke off.
  public func next() -> FlatImage? {
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
    do throws(ManifestError) {
      return try manifests.reader.next(&batch, maximum: Self.batchEntryCount)
    } catch {
      failure = .manifest(error)
      return false
    }
  }

  private func images(of entry: Entry) -> [FlatImage] {
    let url = String(decoding: entry.requestURL, as: UTF8.self)
    do {
      // The plain one is the first, and the only one where there are no variants.
      let identities = try ImageIdentity.identities(of: url, by: context)
      let ways = identities.suffix(Swift.max(1, identities.count - 1))
      return ways.map { identity in
        let stored = isExport ? job.transformedIdentity(of: identity) : nil
        return FlatImage(url: entry.writtenURL, identity: stored ?? identity)
      }
    } catch {
      preconditionFailure("a URL in normal form is one: \(error.message)")
    }
  }
}

extension Job {
  /// The job that reads its manifests as they stand.
  fileprivate var inOrder: Job {
    var job = self
    job.prefetch.order = .fifo
    return job
  }
}
