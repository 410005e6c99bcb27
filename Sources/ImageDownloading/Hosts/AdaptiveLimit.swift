import Base
import Platform

/// The number of transfers that a host takes at once without making its other users wait.
///
/// A host with spare capacity answers just as fast with half as many requests under way. One without queues them, so half as many take
/// half as long, and the quotient of the two latencies is the excess over its capacity (Little's law). So at first, if responses get
/// slower than those of the first burst, and now and then later, some requests run at half the number. If the others are slower than
/// these, the host gets four fifths of the capacity that this shows. Later a higher number is tried, and kept if nothing gets slower.
///
/// Latencies are compared by their logarithms, since those of images differ by factors, and by their spread, so that a host whose images
/// take 5 or 300 ms needs more evidence than one whose images all take 20 ms. Only requests that began at a number count for it, and not
/// the first ones to end, which are the fastest.
struct AdaptiveLimit {
  /// A good response.
  struct Response {
    var begun: MonotonicInstant
    /// From the request to the first byte.
    var latencyNanoseconds: UInt64
    /// The host's transfers, this one included.
    var running: Int
  }

  private enum Phase {
    /// The first burst, which finds the host idle, and what follows it.
    case first
    case normal
    /// At half the number.
    case half
    /// At a number above the one that was found.
    case more
  }

  /// In standard errors: a host with capacity is found slow once in some thousand comparisons, of which there are dozens in a run.
  private static let certainty: Float = 3.5
  /// The first responses of a burst are its fastest, so a difference to them must be larger.
  private static let firstCertainty: Float = 4
  /// The part of the capacity that prewarm uses: the rest is for others. A warm-up takes 1.25 times as long, and less if there are others.
  private static let share: Float = 0.8
  /// Responses between two comparisons, doubled after each: half of the number for a few requests costs 3 % of the time, then 1 %.
  private static let firstGap: Int32 = 512
  private static let longestGap: Int32 = 2048
  /// Responses until more is tried after slowness, and after failures and good tries, which say less about the capacity.
  private static let gapAfterSlowness: Int32 = 256
  private static let shortGap: Int32 = 32

  private var phase = Phase.first
  /// Whether the last comparison with half the number was inconclusive.
  private var isOpen = false
  /// The number in the current phase.
  private var level = Int32.max
  /// The number that was found; the maximum if none was.
  private(set) var found = Int32.max
  /// Responses of this phase that don't count any more, and then those until its end.
  private var skipped: Int32 = 0
  private var remaining: Int32 = 0
  private var gap = firstGap
  private var since = MonotonicInstant(nanoseconds: 0)
  /// What ``current`` is compared with.
  private var base = Latencies()
  private var current = Latencies()

  /// Transfers at once, at least 1.
  func transfers(upTo maximum: Int) -> Int { min(Int(level), maximum) }

  var isLearned: Bool { found != .max }

  /// Handles a good response.
  mutating func succeed(_ response: Response, upTo maximum: Int, now: MonotonicInstant) {
    // A number that isn't used up says nothing.
    guard maximum > 1, response.begun >= since, response.running >= transfers(upTo: maximum) else { return }
    if skipped > 0 {
      skipped -= 1
      return
    }
    let normal = min(found, Int32(clamping: maximum))
    remaining -= 1
    switch phase {
    case .first:
      guard base.count >= max(1, normal / 2) else { return base.add(response.latencyNanoseconds) }
      current.add(response.latencyNanoseconds)
      if current.count >= max(2, normal / 2), current.isSlower(than: base, certainty: Self.firstCertainty) == true {
        enter(.half, normal, for: max(8, normal / 2), now)
      } else if current.count >= 4 * normal {
        enter(.normal, normal, for: gap, now)
      }
    case .half:
      base.add(response.latencyNanoseconds)
      guard remaining <= 0 else { return }
      isOpen = true
      enter(.normal, normal, for: gap, now)
      compare(normal, now)
    case .normal:
      current.add(response.latencyNanoseconds)
      if isOpen { compare(normal, now) }
      guard phase == .normal, remaining <= 0 else { return }
      if normal < maximum {
        (base, current) = (current, Latencies())
        level = min(normal + max(2, normal / 4), Int32(clamping: maximum))
        enter(.more, normal, for: 64, now)
      } else {
        enter(.half, normal, for: 16, now)
      }
      gap = min(2 * gap, Self.longestGap)
    case .more:
      current.add(response.latencyNanoseconds)
      guard current.count >= min(8, level) else { return }
      let isSlower = current.isSlower(than: base, certainty: Self.certainty)
      if isSlower == true {
        current = base
        gap = min(2 * max(gap, Self.gapAfterSlowness), 4 * Self.longestGap)
        enter(.normal, normal, for: gap, now)
      } else if isSlower == false || remaining <= 0 {
        found = normal + max(1, normal / 8)
        current = Latencies()
        enter(.normal, found, for: Self.shortGap, now)
      }
    }
  }

  /// Halves the number if requests fail, once for all that run.
  mutating func fail(begun: MonotonicInstant, upTo maximum: Int, now: MonotonicInstant) {
    guard begun >= since else { return }
    reduce(to: min(found, Int32(clamping: maximum)) / 2, for: Self.shortGap, now)
  }

  private mutating func enter(_ phase: Phase, _ normal: Int32, for responses: Int32, _ now: MonotonicInstant) {
    switch phase {
    case .half:
      base = Latencies()
      level = max(1, normal / 2)
    case .normal: level = found == .max ? .max : normal
    case .first, .more: break
    }
    (self.phase, since, remaining) = (phase, now, responses)
    skipped = level == .max ? normal : level
  }

  /// Compares the latencies at the normal number with those at half of it, and lowers it if they are longer.
  private mutating func compare(_ normal: Int32, _ now: MonotonicInstant) {
    guard current.count >= min(8, normal) else { return }
    let isSlower = current.isSlower(than: base, certainty: Self.certainty)
    // Without a clear result the next comparison has to do.
    isOpen = isSlower == nil && remaining > gap / 2
    guard isSlower == true else { return }
    let capacity = Float(normal) * exp(base.mean - current.mean)
    reduce(to: min(normal - 1, Int32((Self.share * capacity).rounded())), for: Self.gapAfterSlowness, now)
    // Half of the number may still have been too much.
    if found > 1 { enter(.half, found, for: 8, now) }
  }

  private mutating func reduce(to number: Int32, for gap: Int32, _ now: MonotonicInstant) {
    found = max(1, number)
    isOpen = false
    current = Latencies()
    self.gap = gap
    enter(.normal, found, for: gap, now)
  }
}

/// The mean and the spread of the logarithms of latencies in milliseconds; early ones fade.
private struct Latencies {
  /// Others wait that much longer before it counts.
  private static let slowFactor: Float = 1.15
  /// Nobody notices less, and this machine's own delays may be as long.
  private static let noiseMilliseconds: Float = 3
  /// A spread of 2 %, which a clock and a few samples may hide.
  private static let leastVariance: Float = 0.0004
  /// The weight of a sample isn't less than the inverse of this.
  private static let memory: Int32 = 256

  private(set) var count: Int32 = 0
  private(set) var mean: Float = 0
  private var variance: Float = 0

  mutating func add(_ nanoseconds: UInt64) {
    count = min(count + 1, Self.memory)
    let weight = 1 / Float(count)
    let difference = log(max(Float(nanoseconds) / 1e6, 0.01)) - mean
    mean += weight * difference
    variance = (1 - weight) * (variance + weight * difference * difference)
  }

  /// Whether these latencies are longer than the others by more than ``slowFactor``; nil if that isn't certain.
  func isSlower(than other: Latencies, certainty: Float) -> Bool? {
    let spread = max(variance, other.variance, Self.leastVariance)
    let error = certainty * (spread * (1 / Float(count) + 1 / Float(other.count))).squareRoot()
    let difference = mean - other.mean
    if exp(mean) - exp(other.mean) < Self.noiseMilliseconds { return count >= 16 ? false : nil }
    if difference > error, difference > log(Self.slowFactor) { return true }
    return difference + error < log(Self.slowFactor) ? false : nil
  }
}
