import Glibc

extension HTMLPage {
  /// The latency histogram and the run over its time, side by side where there is room.
  mutating func writeCharts(_ report: FinishedReport) {
    let hasTimeline = report.timeline.map { !$0.steps.isEmpty && $0.step > .zero } ?? false
    guard report.traffic.latency.count > 0 || hasTimeline else { return }
    section("speed", "Speed") { page in
      page.element("div", ["class": "charts"]) { page in
        page.writeLatency(report.traffic.latency)
        if hasTimeline, let timeline = report.timeline { page.writeTimeline(timeline, of: report.end.duration) }
      }
    }
  }

  private mutating func writeLatency(_ histogram: LatencyHistogram) {
    guard histogram.count > 0 else { return }
    let chart = LatencyChart(histogram)
    self.chart(
      "Latency of transfers",
      chart.sentence,
      columns: ["up to", "transfers"],
      rows: histogram.buckets.map { [latency($0.upperBound), grouped($0.count)] }
    ) { page in
      page.grid(chart.frame) { grouped(UInt64($0)) }
      for tick in chart.ticks {
        page.label(tickLatency(tick), x: chart.x(milliseconds: tick), y: chart.frame.bottom + 18)
      }
      for bucket in histogram.buckets where bucket.count > 0 {
        let edges = (chart.x(milliseconds: bucket.upperBound / chart.step), chart.x(milliseconds: bucket.upperBound))
        let top = min(chart.frame.y(Double(bucket.count)), chart.frame.bottom - 1)
        page.bar(
          "o-downloaded",
          x: edges.0 + 0.5,
          y: top,
          width: max(edges.1 - edges.0 - 1, 1),
          height: chart.frame.bottom - top,
          tip: "\(latency(bucket.upperBound / chart.step)) to \(latency(bucket.upperBound)): \(grouped(bucket.count))"
        )
      }
      page.mark("median \(latency(chart.median))", at: chart.x(milliseconds: chart.median), in: chart.frame, row: 0)
      page.mark("99 % \(latency(chart.late))", at: chart.x(milliseconds: chart.late), in: chart.frame, row: 1)
    }
  }

  /// A line from top to bottom with words at its top, on its right unless they would not fit there.
  private mutating func mark(_ words: String, at x: Double, in frame: ChartFrame, row: Int) {
    let y = 13 + 16 * Double(row)
    rule("guide", from: (x, y + 3), to: (x, frame.bottom))
    // A letter is 8 units wide where the style draws them at 15.
    let isLeft = x + 8 * Double(words.count) > frame.right
    label(words, x: isLeft ? x - 4 : x + 4, y: y + 3, anchor: isLeft ? "end" : "start", style: "strong")
  }
}

/// What a latency histogram looks like: bars of equal width, since its buckets grow by the same factor.
private struct LatencyChart {
  /// From one bound to the next: four buckets an octave; see ``LatencyHistogram``.
  let step = exp2(0.25)
  /// Buckets that there is room for at least, so that a few do not fill it all.
  private static let leastBuckets = 16.0

  let frame: ChartFrame
  let median: Double
  let late: Double
  let sentence: String
  /// The base-2 logarithms of the edges.
  private let low: Double
  private let high: Double

  init(_ histogram: LatencyHistogram) {
    let buckets = histogram.buckets
    frame = ChartFrame(upTo: Double(buckets.map(\.count).max() ?? 1))
    median = histogram.percentile(0.5) ?? 0
    late = histogram.percentile(0.99) ?? 0
    let ninety = latency(histogram.percentile(0.9) ?? 0)
    let longest = latency(histogram.maximumMilliseconds)
    sentence =
      "\(counted(histogram.count, "transfer")): \(latency(median)) median, \(ninety) at 90 %, \(latency(late)) at 99 %, "
      + "\(longest) the longest"
    let first = log2(buckets.first?.upperBound ?? 1) - 0.25
    let last = log2(buckets.last?.upperBound ?? 1)
    let missing = max(Self.leastBuckets - (last - first) * 4, 0) / 8
    low = first - missing
    high = last + missing
  }

  func x(milliseconds: Double) -> Double { frame.x((log2(max(milliseconds, 0.001)) - low) / (high - low)) }

  /// Round times within the range, so many as there is room for.
  var ticks: [Double] {
    let isWide = high - low > 7
    let decades = (-2...8).map { pow(10, Double($0)) }
    let all = decades.flatMap { decade in (isWide ? [1.0] : [1.0, 2.0, 5.0]).map { $0 * decade } }
    return all.filter { log2($0) >= low && log2($0) <= high }
  }
}

/// `0.1 ms`, `5 ms`, `20 s`: a round time without decimals that say nothing.
private func tickLatency(_ milliseconds: Double) -> String {
  milliseconds >= 1 && milliseconds < 9.5 ? fixed(milliseconds, decimals: 0) + " ms" : latency(milliseconds)
}
