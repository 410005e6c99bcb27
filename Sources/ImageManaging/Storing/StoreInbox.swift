import Platform
import ImageCaching
import ImageCoding
import ImageDownloading
import Base
import Synchronization

/// A message to the store thread.
enum StoreMessage: Sendable {
  /// From the transfer thread.
  case event(DownloadEvent)
  /// A flight whose cached copy must be read first.
  case prove(number: UInt64)
  /// From a coding thread: an image was judged.
  case judged(number: UInt64, Judged)
  /// From a coding thread: a cached body was judged.
  case proved(number: UInt64, CachedCopy, CachedProof)
  /// From the committer.
  case committed(CommitBatch)
  /// From a coding thread: a partial image of an arriving body.
  case partial(number: UInt64, DecodedImage)
  /// The first times of access wait to be written.
  case touched(LoadContext)
  /// So many times of access wait that they must be written at once.
  case writeTouches(LoadContext)
  /// End the transfers, finish the remaining work, and end.
  case close
  /// The placeholder of a removed message.
  case taken
}

/// The store thread's inbox: it receives events of transfers and decides whether more may start.
final class StoreInbox: DownloadReceiver {
  let mailbox = Mailbox<StoreMessage>()
  let pressure = BackPressure()
  let meter: PipelineMeter

  init(meter: PipelineMeter) { self.meter = meter }

  /// Calls `body`, during which the store thread waits for the disk.
  func whileWriting<Result>(_ body: () -> Result) -> Result {
    meter.store(.writing)
    defer { meter.store(.working) }
    return body()
  }

  var mayStart: Bool { pressure.mayStart() }

  func receive(_ events: [DownloadEvent]) {
    var held = BackPressure.Held()
    for event in events {
      switch event {
      case .chunk(_, _, let chunk): held.bytes += chunk.count
      case .finished(_, let image):
        held.entries += 1
        held.bytes += image.body.count
        // Counted here, since the store thread may be many bodies behind.
        if image.wasStreamed { held.blobs += 1 }
      default: break
      }
    }
    pressure.add(held)
    mailbox.post(contentsOf: events.map { .event($0) })
  }
}

/// The limits of received images that aren't final yet, so that a slow disk or decoder delays the network instead of filling memory.
/// The transfer thread checks and adds, the store thread adds and subtracts.
final class BackPressure: Sendable {
  /// The resources of one or several entries.
  struct Held: Sendable, Equatable {
    /// Entries between the end of their transfer and their commit.
    var entries = 0
    /// Bytes of bodies in memory.
    var bytes = 0
    /// Large bodies in files that are open until their commit.
    var blobs = 0

    static func += (left: inout Held, right: Held) { left.add(right, 1) }

    fileprivate mutating func add(_ other: Held, _ sign: Int) {
      entries += sign * other.entries
      bytes += sign * other.bytes
      blobs += sign * other.blobs
    }
  }

  /// The limits; running transfers don't count, so their results may exceed them.
  let limit: Held

  /// What is held, and whether a check was rejected since there was room.
  private let state = Mutex((held: Held(), isAwaited: false))

  init(limit: Held = Held(entries: 4096, bytes: 11 << 20, blobs: BackPressure.blobLimit)) { self.limit = limit }

  /// Whether a new transfer may start; after false, the result of ``subtract(_:)`` shows when to check again.
  func mayStart() -> Bool {
    state.withLock { state in
      let hasRoom = hasRoom(state.held)
      if !hasRoom { state.isAwaited = true }
      return hasRoom
    }
  }

  var isFull: Bool { state.withLock { !hasRoom($0.held) } }

  func add(_ held: Held) { state.withLock { $0.held += held } }

  /// Returns whether there is room again after a rejected check.
  func subtract(_ held: Held) -> Bool {
    state.withLock { state in
      state.held.add(held, -1)
      guard state.isAwaited, hasRoom(state.held) else { return false }
      state.isAwaited = false
      return true
    }
  }

  private func hasRoom(_ held: Held) -> Bool {
    held.entries < limit.entries && held.bytes < limit.bytes && held.blobs < limit.blobs
  }

  /// An eighth of the files that this process may open, at most 1,024; sockets and arriving bodies need the others.
  static var blobLimit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 128 }
    return max(1, min(1024, Int(clamping: limit.rlim_cur) / 8))
  }
}
