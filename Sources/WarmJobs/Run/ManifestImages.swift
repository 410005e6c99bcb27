public import ImageCaching
import ImageManaging
public import ImagePrimitives
import ImageURLs
import Manifests

/// The images that a job's manifests name, for an import out of a flat folder: URLs as they are written, and what the cache knows them by.
///
/// It is gone through once. What `include` and `exclude` leave out is left out here too; lines that are no URL are counted.
public final class ManifestImages: Sequence, IteratorProtocol {
  private static let batchEntryCount = 4096

  private let reader: ManifestReader
  /// How the job's runs ask for an entry, by which they know its image.
  private let context: LoadContext
  private var batch = EntryBatch()
  private var index = 0

  /// Lines so far that are no URL.
  public private(set) var invalidLines = 0
  /// Why the manifests broke off; nil if they did not.
  public private(set) var failure: JobError?

  /// Opens the manifests of `job`; throws if one cannot be read, where one would have to be fetched, and where the job has more
  /// than one variant or edge. The images are meant for `cache`.
  public init(_ job: Job, for cache: ImageCache, time: TimeSource = .system) throws(JobError) {
    let now = time.wall()
    let variants = job.loadVariants
    if variants.count > 1 { throw .severalImages(perEntry: variants.count) }
    do throws(ManifestError) {
      reader = try ManifestReader(
        job.manifests.map { $0.readable(now: now, inlineName: "urls") },
        order: .fifo,
        spoolDirectory: cache.configuration.directory
      )
    } catch {
      throw .manifest(error)
    }
    context = job.context(variants: variants, in: cache, at: now)
  }

  /// The next image; nil at the end, and where the manifests broke off.
  public func next() -> FlatImage? {
    while failure == nil, index < batch.entries.count || refill() {
      let entry = batch.entry(index)
      index += 1
      switch entry.state {
      case .good: return image(of: entry)
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
      return try reader.next(&batch, maximum: Self.batchEntryCount)
    } catch {
      failure = .manifest(error)
      return false
    }
  }

  private func image(of entry: Entry) -> FlatImage {
    let url = String(decoding: entry.requestURL, as: UTF8.self)
    do {
      // The last is the variant's, or the plain one where there is none.
      let identities = try ImageIdentity.identities(of: url, by: context)
      return FlatImage(url: entry.writtenURL, identity: identities[identities.count - 1])
    } catch {
      preconditionFailure("a URL in normal form is one: \(error.message)")
    }
  }
}
