/// How many transfers a host takes at once, found by trying: additive increase, multiplicative decrease, as TCP finds a path's
/// capacity (Chiu and Jain, 1989; RFC 5681).
///
/// It grows by one with each good answer at first, which doubles it a round, and by one a round once it was cut; and only where
/// it was used up, since else nothing is learned. It is halved when a request fails in a way that may heal, when the host asks
/// for a pause (429, 503), and when the smoothed time to the first byte is beyond twice the least ever seen: requests queue there
/// then. What was under way at a cut says nothing of the new limit, and is passed over. At one transfer slowness is not our
/// doing, and becomes what is compared with.
struct AdaptiveLimit {
  private static let first = 2.0
  /// A part of this in the smoothed latency is new.
  private static let smoothing = 8.0
  private static let slowFactor = 2.0
  /// Differences below this are noise.
  private static let noiseNanoseconds = 5e6

  private var limit = first
  private var wasCut = false
  /// So many of those under way began before the last cut.
  private var stale = 0
  private var smoothedNanoseconds: Double?
  private var leastNanoseconds = Double.infinity

  /// Transfers at once, at least 1.
  var transfers: Int { Int(limit) }

  /// Whether it has found anything.
  var isLearned: Bool { wasCut || limit != Self.first }

  /// A good answer has come while `running` transfers ran, that one included.
  mutating func succeed(latencyNanoseconds: UInt64?, running: Int, upTo maximum: Int) {
    guard !passesOver() else { return }
    if let latencyNanoseconds, isSlow(Double(latencyNanoseconds)) { return slowDown(running) }
    if running >= transfers { limit = min(limit + (wasCut ? 1 / limit : 1), Double(maximum)) }
  }

  /// A request has failed, or was told to wait, while `running` ran, that one included.
  mutating func fail(running: Int) {
    guard !passesOver() else { return }
    cut(running)
  }

  /// It has ended and told nothing.
  mutating func pass() { _ = passesOver() }

  private mutating func passesOver() -> Bool {
    guard stale > 0 else { return false }
    stale -= 1
    return true
  }

  private mutating func isSlow(_ latency: Double) -> Bool {
    leastNanoseconds = min(leastNanoseconds, latency)
    let smoothed = smoothedNanoseconds.map { $0 + (latency - $0) / Self.smoothing } ?? latency
    smoothedNanoseconds = smoothed
    return smoothed > leastNanoseconds * Self.slowFactor + Self.noiseNanoseconds
  }

  private mutating func slowDown(_ running: Int) {
    if transfers == 1, let smoothedNanoseconds { leastNanoseconds = smoothedNanoseconds }
    cut(running)
  }

  private mutating func cut(_ running: Int) {
    limit = max(1, limit / 2)
    wasCut = true
    stale = max(0, running - 1)
    smoothedNanoseconds = nil
  }
}
