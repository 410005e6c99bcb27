@testable import Reports
import Testing

@Suite struct LatencyHistogramTests {
  private func makeHistogram(_ values: [UInt64]) -> LatencyHistogram {
    values.reduce(into: LatencyHistogram()) { $0.record(nanoseconds: $1) }
  }

  private func randomValues(_ count: Int) -> [UInt64] {
    // Even on the logarithmic scale from 1 µs to 20 minutes.
    (0..<count).map { _ in
      let magnitude = UInt64(1) << UInt64.random(in: 10...40)
      return magnitude + UInt64.random(in: 0..<magnitude)
    }
  }

  @Test func `merged histograms equal one that counted everything`() {
    let parts = (0..<5).map { randomValues($0 * 300) }
    var merged = LatencyHistogram()
    for part in parts.shuffled() { merged.merge(makeHistogram(part)) }
    #expect(merged == makeHistogram(parts.flatMap { $0 }))
  }

  @Test(arguments: [0.01, 0.25, 0.5, 0.9, 0.99, 1])
  func `a percentile is off by at most one bucket`(_ fraction: Double) throws {
    let values = randomValues(2000).filter { $0 > 100_000 }.sorted()
    let exact = Double(values[max(Int((fraction * Double(values.count)).rounded(.up)) - 1, 0)]) / 1e6
    let estimate = try #require(makeHistogram(values).percentile(fraction))
    #expect(estimate / exact < 1.19 && exact / estimate < 1.19)
  }

  @Test func `the maximum is exact, and no percentile exceeds it`() {
    let histogram = makeHistogram([1_000_000, 17_000_001])
    #expect(histogram.maximumMilliseconds == 17.000001)
    #expect(histogram.percentile(1) == 17.000001)
  }

  @Test func `an empty histogram has no percentiles and no buckets`() {
    #expect(LatencyHistogram().percentile(0.5) == nil)
    #expect(LatencyHistogram().buckets.isEmpty)
  }

  @Test func `a bound belongs to its bucket, and the next nanosecond to the next`() {
    #expect(makeHistogram([1_000_000]).buckets.map(\.upperBound) == [1])
    #expect(makeHistogram([1_000_001]).buckets.map { ($0.upperBound * 100).rounded() } == [119])
    #expect(makeHistogram([0]).buckets.map(\.upperBound) == [0.0625])
    #expect(makeHistogram([.max]).buckets.map(\.upperBound) == [16_777_216])
  }

  @Test func `buckets range from the first used to the last used`() {
    let buckets = makeHistogram([4_000_000, 2_000_000, 2_000_000]).buckets
    #expect(buckets.map(\.count) == [2, 0, 0, 0, 1])
    #expect(buckets.first?.upperBound == 2)
    #expect(buckets.last?.upperBound == 4)
  }
}
