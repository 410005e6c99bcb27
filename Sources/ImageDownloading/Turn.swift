import ImagePrimitives

/// What one turn of the transfer loop gathers: its time, and what libcurl's callbacks note for when they have returned.
final class Turn {
  /// Read once, after the loop has slept.
  var now: MonotonicInstant
  /// What the receiver is told at the end of the turn.
  var events: [DownloadEvent] = []
  /// The places of transfers that have resolved or connected, where a host's others wait for that.
  var advanced: [Int] = []
  /// Connections opened so far, in all turns.
  var openedConnections = 0

  init(now: MonotonicInstant) { self.now = now }
}
