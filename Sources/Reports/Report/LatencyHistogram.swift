import Glibc

/// A histogram of the durations of transfers with a fixed logarithmic scale, so that histograms of hosts, runs and machines merge
/// exactly.
///
/// The upper bounds are 2^(i/4) ms, from 0.0625 ms (2^-4) to 4.7 hours (2^24 ms): four buckets per octave, so a percentile is off by
/// at most 19 %. A value belongs to the lowest bucket whose bound isn't below it; longer values count in the last bucket. Only the
/// buckets from the first used to the last used are kept, so a host with few entries takes about ten bytes.
public struct LatencyHistogram: Sendable, Equatable {
  public private(set) var count: UInt64 = 0
  /// The exact maximum in nanoseconds; 0 if there are no values.
  public private(set) var maximumNanoseconds: UInt64 = 0
  /// The sum of all values in nanoseconds.
  public private(set) var sumNanoseconds: UInt64 = 0
  /// The position on the scale of the first of `counts`.
  private var first = 0
  private var counts: [UInt64] = []

  public init() {}

  public mutating func record(nanoseconds: UInt64) {
    add(1, toBucket: Self.bucket(ofNanoseconds: nanoseconds))
    maximumNanoseconds = max(maximumNanoseconds, nanoseconds)
    sumNanoseconds &+= nanoseconds
  }

  /// Adds all counts of `other`; the order of merging doesn't matter.
  public mutating func merge(_ other: LatencyHistogram) {
    for (offset, count) in other.counts.enumerated() where count > 0 { add(count, toBucket: other.first + offset) }
    maximumNanoseconds = max(maximumNanoseconds, other.maximumNanoseconds)
    sumNanoseconds &+= other.sumNanoseconds
  }

  /// Creates a histogram from its ``buckets``; a bound that isn't on the scale counts in the next larger bucket.
  public init(buckets: [(upperBound: Double, count: UInt64)], maximumNanoseconds: UInt64, sumNanoseconds: UInt64) {
    for bucket in buckets where bucket.count > 0 {
      // Reports round bounds.
      let nanoseconds = UInt64(min(max(bucket.upperBound, 0) * 0.999 * 1e6, 1e18))
      add(bucket.count, toBucket: Self.bucket(ofNanoseconds: nanoseconds))
    }
    (self.maximumNanoseconds, self.sumNanoseconds) = (maximumNanoseconds, sumNanoseconds)
  }

  /// Returns the value in milliseconds that a `fraction` (0…1) of all values doesn't exceed, interpolated within its bucket and never
  /// above the maximum; nil if there are no values.
  public func percentile(_ fraction: Double) -> Double? {
    guard count > 0 else { return nil }
    let rank = min(max((fraction * Double(count)).rounded(.up), 1), Double(count))
    var before = 0.0
    for (offset, bucketCount) in counts.enumerated() {
      let upTo = before + Double(bucketCount)
      if upTo >= rank {
        let bucket = first + offset
        let lower = bucket == 0 ? 0 : Self.bounds[bucket - 1].milliseconds
        let value = lower + (Self.bounds[bucket].milliseconds - lower) * (rank - before) / Double(bucketCount)
        return min(value, maximumMilliseconds)
      }
      before = upTo
    }
    return maximumMilliseconds
  }

  public var maximumMilliseconds: Double { Double(maximumNanoseconds) / 1e6 }

  /// Upper bounds in milliseconds and counts of the buckets from the first used to the last used, including empty ones.
  public var buckets: [(upperBound: Double, count: UInt64)] {
    counts.enumerated().map { (Self.bounds[first + $0].milliseconds, $1) }
  }

  private mutating func add(_ amount: UInt64, toBucket bucket: Int) {
    if counts.isEmpty {
      first = bucket
      counts = [0]
    } else if bucket < first {
      counts.insert(contentsOf: repeatElement(0, count: first - bucket), at: 0)
      first = bucket
    } else if bucket >= first + counts.count {
      counts.append(contentsOf: repeatElement(0, count: bucket - first - counts.count + 1))
    }
    counts[bucket - first] += amount
    count += amount
  }
}

extension LatencyHistogram {
  /// An upper bound in both units; whole nanoseconds decide, so that all machines choose the same bucket.
  private struct Bound {
    var nanoseconds: UInt64
    var milliseconds: Double
  }

  private static let bounds: [Bound] = (-16...96).map { step in
    let milliseconds = exp2(Double(step) / 4)
    return Bound(nanoseconds: UInt64((milliseconds * 1e6).rounded()), milliseconds: milliseconds)
  }

  private static func bucket(ofNanoseconds value: UInt64) -> Int {
    var low = 0
    var high = bounds.count - 1
    while low < high {
      let middle = (low + high) / 2
      if bounds[middle].nanoseconds < value { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
