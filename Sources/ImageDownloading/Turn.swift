import ImagePrimitives

/// What one turn of the transfer loop gathers: its time, and what libcurl's callbacks note for when they have returned; and when
/// the loop has to look at its transfers' time limits.
final class Turn {
  /// What becomes of a streamed body.
  enum Streamed {
    /// Its next part.
    case chunk(slot: Int, attempt: Int, bytes: [UInt8])
    /// Its parts so far are void.
    case restart(slot: Int)
  }

  /// Read once, after the loop has slept.
  var now: MonotonicInstant
  /// No transfer can break a time limit before this.
  var nextTimeLimit = MonotonicInstant(nanoseconds: .max)
  /// What was streamed, in order.
  var streamed: [Streamed] = []
  /// What waits for requests that go on from it.
  let keptBytes = KeptBytes()
  /// The places of transfers that have resolved or connected, where a host's others wait for that.
  var advanced: [Int] = []
  /// The places of transfers of which somebody wants to know how far they are, and that have come further.
  var progressed: [Int] = []
  /// Connections opened so far, in all turns.
  var openedConnections = 0

  init(now: MonotonicInstant) { self.now = now }
}
