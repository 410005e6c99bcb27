import Base
import Platform

/// The number of transfers that a host takes at once without making its other users wait.
///
/// A host with spare capacity answers just as fast with half as many requests under way. One without queues them, so half as many take
/// half as long, and the quotient of the two latencies is the excess over its capacity (Little's law). The number begins low and doubles
/// with each burst, as in TCP's slow start. If responses get slower, and now and then later, some requests run at a lower number. If the
/// others are slower than these, the host gets four fifths of the capacity that this shows. Later a higher number is tried, and kept if
/// nothing gets slower.
///
/// Latencies are compared by their logarithms, since those of images differ by factors, and by their spread, so that a host whose images
/// take 5 or 300 ms needs more evidence than one whose images all take 20 ms. Only requests that began at a number count for it, and not
/// the first ones to end, which are the fastest, except among bursts, which all begin with these.
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
    case normal
    /// Below the number that was found.
    case less
    /// Above it.
    case more
  }

  /// A burst of a quarter of the maximum is larger, so that the maximum is reached within two latencies.
  private static let firstBurst = 8
  /// In standard errors: a host with capacity is found slow once in some thousand comparisons, of which there are dozens in a run.
  private static let certainty: Float = 3.5
  /// The first responses of a burst are its fastest, so a difference to them must be larger.
  private static let burstCertainty: Float = 4
  /// The part of the capacity that prewarm uses: the rest is for others. A warm-up takes 1.25 times as long, and less if there are others.
  private static let share: Float = 0.8
  /// Responses between two comparisons, doubled after each: half of the number for a few requests costs 3 % of the time, then 1 %.
  private static let firstGap: Int32 = 512
  private static let longestGap: Int32 = 2048
  /// Responses until more is tried after slowness, and after failures and good tries, which say less about the capacity.
  private static let gapAfterSlowness: Int32 = 64
  private static let shortGap: Int32 = 32

  private var phase = Phase.more
  /// Whether the last comparison with a lower number was inconclusive.
  private var isOpen = false
  /// Whether the host got slow or failed.
  private(set) var isLearned = false
  /// The number in the current phase; 0 at first.
  private var level: Int32 = 0
  /// The number that was found, or that the doubling reached; `Int32.max` after it.
  private var found: Int32 = 0
  /// Responses of this phase that don't count any more, and then those until its end.
  private var skipped: Int32 = 0
  private var remaining: Int32 = 0
  private var gap = firstGap
  private var since = MonotonicInstant(nanoseconds: 0)
  /// What ``current`` is compared with.
  private var base = Latencies()
  private var current = Latencies()

  /// Transfers at once, at least 1.
  func transfers(upTo maximum: Int) -> Int { min(level > 0 ? Int(level) : max(Self.firstBurst, maximum / 4), maximum) }

  /// Whether the host got slow or failed with `maximum`.
  func isLowered(from maximum: Int) -> Bool { isLearned && found < maximum }

  /// Handles a good response.
  mutating func succeed(_ response: Response, upTo maximum: Int, now: MonotonicInstant) {
    let allowed = transfers(upTo: maximum)
    // A number that isn't used up says nothing.
    guard maximum > 1, response.begun >= since, response.running >= allowed else { return }
    guard skipped == 0 else { return skipped -= 1 }
    let maximum = Int32(clamping: maximum)
    if level == 0 { level = Int32(allowed) }
    let normal = min(found, maximum)
    remaining -= 1
    // The first half of the first burst finds the host idle.
    if phase == .less || phase == .more && !isLearned && base.count < level / 2 {
      base.add(response.latencyNanoseconds)
    } else {
      current.add(response.latencyNanoseconds)
    }
    switch phase {
    case .less:
      let isSlower = base.count >= 8 && current.count >= 4 ? current.isSlower(than: base, certainty: Self.certainty) : nil
      if isSlower == true {
        lower(normal, now)
      } else if isSlower == false || remaining <= 0 {
        if !isLearned, normal < maximum { return tryMore(normal, now) }
        isOpen = isSlower == nil
        enter(.normal, normal, for: gap, now)
      }
    case .normal:
      if isOpen { compare(normal, now) }
      guard phase == .normal, remaining <= 0 else { return }
      gap = min(2 * gap, Self.longestGap)
      if normal < maximum {
        tryMore(min(normal + max(2, normal / 4), maximum), now)
      } else {
        enter(.less, normal / 2, for: 16, now)
      }
    case .more where isLearned:
      let isSlower = current.count >= min(8, level) ? current.isSlower(than: base, certainty: Self.certainty) : nil
      guard isSlower != nil || remaining <= 0 else { return }
      found = isSlower == true ? min(normal, max(normal - normal / 4, part(of: level))) : level
      if isSlower == true { gap = min(2 * gap, 4 * Self.longestGap) }
      current = Latencies()
      enter(.normal, found, for: isSlower == true ? gap : Self.shortGap, now)
    case .more: endBurst(maximum, now)
    }
  }

  /// Doubles the number after a burst that wasn't slower than those before.
  private mutating func endBurst(_ maximum: Int32, _ now: MonotonicInstant) {
    guard current.count >= max(1, level / 2) else { return }
    if current.isSlower(than: base, certainty: Self.burstCertainty) == true {
      // The bursts before may have been fast by chance, or slow already.
      (found, gap) = (level, Self.gapAfterSlowness)
      enter(.less, max(level / 4, min(level / 2, part(of: level))), for: 16, now)
    } else if level < maximum, found == 0 || current.count >= level {
      found = level
      tryMore(min(2 * level, maximum), now)
      skipped = 0
    } else if current.count >= 2 * level {
      (found, current, gap) = (.max, Latencies(), Self.firstGap)
      enter(.normal, level, for: gap, now)
    }
  }

  /// Halves the number if requests fail, once for all that run.
  mutating func fail(begun: MonotonicInstant, upTo maximum: Int, now: MonotonicInstant) {
    guard begun >= since else { return }
    reduce(to: Int32(clamping: transfers(upTo: maximum) / 2), for: Self.shortGap, now)
  }

  private mutating func enter(_ phase: Phase, _ level: Int32, for responses: Int32, _ now: MonotonicInstant) {
    if phase == .less { base = Latencies() }
    self.level = phase == .normal && found == .max ? .max : max(1, level)
    (self.phase, since, skipped, remaining) = (phase, now, level, responses)
  }

  /// Runs some requests at a higher number than those so far.
  private mutating func tryMore(_ level: Int32, _ now: MonotonicInstant) {
    base.merge(current)
    current = Latencies()
    enter(.more, level, for: 64, now)
  }

  /// The part of the host's capacity for prewarm, if ``current`` was measured at `number`.
  private func part(of number: Int32) -> Int32 { Int32((Self.share * Float(number) * exp(base.mean - current.mean)).rounded()) }

  /// Compares the latencies at the normal number with those below it, and lowers it if they are longer.
  private mutating func compare(_ normal: Int32, _ now: MonotonicInstant) {
    guard current.count >= min(4, normal) else { return }
    let isSlower = current.isSlower(than: base, certainty: Self.certainty)
    // Without a clear result the next comparison has to do.
    isOpen = isSlower == nil && remaining > gap / 2
    if isSlower == true { lower(normal, now) }
  }

  private mutating func lower(_ normal: Int32, _ now: MonotonicInstant) {
    reduce(to: min(normal - 1, part(of: normal)), for: Self.gapAfterSlowness, now)
    // Half of the number may still have been too much.
    if found > 1 { enter(.less, found / 2, for: 8, now) }
  }

  private mutating func reduce(to number: Int32, for gap: Int32, _ now: MonotonicInstant) {
    (isOpen, isLearned) = (false, true)
    (found, current, self.gap) = (max(1, number), Latencies(), gap)
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
    merge(Latencies(count: 1, mean: log(max(Float(nanoseconds) / 1e6, 0.01))))
  }

  mutating func merge(_ other: Latencies) {
    guard other.count > 0 else { return }
    count = min(count + other.count, Self.memory)
    let weight = min(Float(other.count) / Float(count), 1)
    let difference = other.mean - mean
    mean += weight * difference
    variance = (1 - weight) * (variance + weight * difference * difference) + weight * other.variance
  }

  /// Whether these latencies are longer than the others by more than ``slowFactor``; nil if that isn't certain.
  func isSlower(than other: Latencies, certainty: Float) -> Bool? {
    let difference = mean - other.mean
    let spread = max(variance, other.variance, Self.leastVariance)
    let error = certainty * (spread * (1 / Float(count) + 1 / Float(other.count))).squareRoot()
    if exp(mean) - exp(other.mean) < Self.noiseMilliseconds { return count >= 16 ? false : nil }
    if difference > error, difference > log(Self.slowFactor) { return true }
    return difference + error < log(Self.slowFactor) ? false : nil
  }
}
