import Base

/// What a loop has recorded for the scheduler since it was last asked.
///
/// `@unchecked Sendable`: what it refers to belongs to its receiver.
struct CurlReport: @unchecked Sendable {
  /// Names a request of a transfer, which serves one after another: a record of an ended one is void.
  struct ID {
    var index: Int
    var run: UInt64
  }

  /// A change of a streamed body.
  enum Streamed {
    /// Its next chunk.
    case chunk(ID, attempt: Int, bytes: [UInt8])
    /// Its chunks so far are void.
    case restart(ID)
  }

  /// The received part of a body.
  struct Progress {
    var id: ID
    var receivedBytes: Int
    var expectedBytes: Int?
    /// The response's head; nil if it was recorded before.
    var head: ResponseHead?
  }

  let loop: Int
  /// Transfers that have resolved their names or connected, and that others of their hosts wait for.
  var advanced: [(id: ID, phase: Transfer.Phase)] = []
  /// In order.
  var streamed: [Streamed] = []
  var progress: [Progress] = []
  var ended: [(id: ID, outcome: TransferOutcome)] = []
  /// The number of `Set-Cookie` headers.
  var cookiesSet = 0
  /// All connections opened so far.
  var openedConnections = 0

  init(_ loop: Int) { self.loop = loop }

  var isEmpty: Bool { advanced.isEmpty && streamed.isEmpty && progress.isEmpty && ended.isEmpty && cookiesSet == 0 }

  /// Removes everything but the number of connections.
  mutating func removeAll() {
    advanced.removeAll(keepingCapacity: true)
    streamed.removeAll(keepingCapacity: true)
    progress.removeAll(keepingCapacity: true)
    ended.removeAll(keepingCapacity: true)
    cookiesSet = 0
  }
}

/// What the transfers of a loop share: its time, and their part of its report, written in libcurl's callbacks.
final class TransferRecord {
  /// Read once, after the loop has slept.
  var now: MonotonicInstant
  /// No transfer can exceed a time limit before this.
  var nextTimeLimit = MonotonicInstant(nanoseconds: .max)
  var report: CurlReport
  /// The transfers whose progress is to be reported.
  private var progressing: [Transfer] = []

  init(loop: Int, now: MonotonicInstant) {
    report = CurlReport(loop)
    self.now = now
  }

  /// Notes that bytes of `transfer` came, of which the progress is to be reported.
  func note(_ transfer: Transfer) { progressing.append(transfer) }

  /// Adds the progress that was noted since the last call to the report.
  func reportProgress() {
    guard !progressing.isEmpty else { return }
    report.progress += progressing.compactMap { $0.takeProgress() }
    progressing.removeAll(keepingCapacity: true)
  }
}
