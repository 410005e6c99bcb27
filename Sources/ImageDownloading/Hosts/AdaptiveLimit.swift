/// The number of transfers that a host can take at once, found by additive increase and multiplicative decrease, as TCP finds a path's
/// capacity (Chiu and Jain, 1989; RFC 5681).
///
/// At first it grows by one with each good response, which doubles it per round trip; after the first cut it grows by one per round
/// trip. It grows only if it was used up, since otherwise nothing is learned. It is halved if a request fails temporarily, if the host
/// asks for a pause (429, 503), and if the smoothed time to the first byte exceeds twice the minimum: then requests queue at the host.
/// Transfers that were running at a cut say nothing about the new limit and are ignored. At one transfer we don't cause the slowness,
/// so the current latency becomes the new minimum.
struct AdaptiveLimit {
  private static let first = 2.0
  /// A new latency's weight in the smoothed one is the inverse of this.
  private static let smoothing = 8.0
  private static let slowFactor = 2.0
  /// Differences below this are noise.
  private static let noiseNanoseconds = 5e6

  private var limit = first
  private var wasCut = false
  /// How many running transfers began before the last cut.
  private var stale = 0
  private var smoothedNanoseconds: Double?
  private var leastNanoseconds = Double.infinity

  /// Transfers at once, at least 1.
  var transfers: Int { Int(limit) }

  /// Whether it has learned anything.
  var isLearned: Bool { wasCut || limit != Self.first }

  /// Handles a good response that came while `running` transfers ran, that one included.
  mutating func succeed(latencyNanoseconds: UInt64?, running: Int, upTo maximum: Int) {
    guard !passesOver() else { return }
    if let latencyNanoseconds, isSlow(Double(latencyNanoseconds)) { return slowDown(running) }
    if running >= transfers { limit = min(limit + (wasCut ? 1 / limit : 1), Double(maximum)) }
  }

  /// Handles a failure or a requested pause while `running` transfers ran, that one included.
  mutating func fail(running: Int) {
    guard !passesOver() else { return }
    cut(running)
  }

  /// Handles the end of a transfer from which nothing is learned.
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
