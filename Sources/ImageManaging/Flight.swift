import ImageCaching
import ImageDownloading
import ImagePrimitives
import Synchronization

/// One identity on its way: from the moment it is asked for until its result is final.
final class Flight: Sendable {
  /// How far a flight was told to stop.
  enum Stop: UInt8, AtomicRepresentable, Comparable {
    case no
    /// Nothing further may start for it; what runs goes on.
    case nothingNew
    /// What runs is to end too.
    case now

    static func < (left: Stop, right: Stop) -> Bool { left.rawValue < right.rawValue }
  }

  let key: CacheKey
  let identity: [UInt8]
  /// The URL that is requested, credentials included.
  let url: [UInt8]
  let priority: Priority
  let sequence: Int64
  let context: LoadContext
  /// What the blacklist says of a URL that is loaded all the same.
  let known: BlacklistHead?
  private let stopping = Atomic(Stop.no)

  init(
    key: CacheKey,
    identity: [UInt8],
    url: [UInt8],
    priority: Priority,
    sequence: Int64,
    context: LoadContext,
    known: BlacklistHead?
  ) {
    self.key = key
    self.identity = identity
    self.url = url
    self.priority = priority
    self.sequence = sequence
    self.context = context
    self.known = known
  }

  /// How far it was told to stop, by whoever alone waits for it.
  var stop: Stop { stopping.load(ordering: .sequentiallyConsistent) }

  /// Tells it to stop; what was told once is not taken back.
  func stop(_ stop: Stop) {
    if stop > self.stop { stopping.store(stop, ordering: .sequentiallyConsistent) }
  }

  /// The transfer that this flight asks for.
  func download(id: UInt64) -> Download {
    Download(id: id, url: url, priority: priority, sequence: sequence, options: context.download)
  }
}
