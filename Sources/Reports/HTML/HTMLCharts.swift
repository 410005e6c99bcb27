import Glibc
import Base

/// The layout of a chart in the units of its SVG: maps values to coordinates.
struct ChartFrame {
  /// Of the whole picture; the style enlarges its letters on narrow screens.
  static let width = 440.0
  static let height = 230.0

  /// The edges of the plot inside the picture.
  var left = 52.0
  var right = width - 8
  var top = 38.0
  var bottom = height - 24
  /// The value at the upper edge; the lower one is 0.
  var maximum: Double

  init(upTo value: Double) { maximum = max(roundStep(value) * (value / roundStep(value)).rounded(.up), 1e-9) }

  func y(_ value: Double) -> Double { bottom - min(value / maximum, 1) * (bottom - top) }

  func x(_ fraction: Double) -> Double { left + min(max(fraction, 0), 1) * (right - left) }

  /// Values for lines across, above 0.
  var gridValues: [Double] {
    let step = roundStep(maximum)
    let count = Int((maximum / step).rounded())
    return (1...max(count, 1)).map { Double($0) * step }
  }
}

/// Returns a step of 1, 2 or 5 times a power of ten that goes into `value` two to five times.
func roundStep(_ value: Double) -> Double {
  let value = max(value, 1e-6)
  let power = pow(10, floor(log10(value / 2)))
  let ratio = value / 2 / power
  return power * (ratio >= 5 ? 5 : ratio >= 2 ? 2 : 1)
}

extension HTMLPage {
  mutating func grid(_ frame: ChartFrame, _ words: (Double) -> String) {
    for value in frame.gridValues {
      rule("grid", from: (frame.left, frame.y(value)), to: (frame.right, frame.y(value)))
      label(words(value), x: frame.left - 6, y: frame.y(value) + 4, anchor: "end")
    }
    rule("axis", from: (frame.left, frame.bottom), to: (frame.right, frame.bottom))
  }

  /// A chart with a title above and a sentence below it, and a table of its numbers, for people who can't see it, too.
  mutating func chart(
    _ title: String,
    _ sentence: String,
    columns: [String],
    rows: [[String]],
    _ drawing: (inout HTMLPage) -> Void
  ) {
    element("figure") { page in
      page.element("h3", title)
      let box = "0 0 \(coordinate(ChartFrame.width)) \(coordinate(ChartFrame.height))"
      page.element("svg", ["class": "chart", "viewBox": box, "role": "img", "aria-label": "\(title): \(sentence)"]) { page in
        page.element("title", "\(title): \(sentence)")
        drawing(&page)
      }
      page.element("figcaption", sentence)
      page.element("details", ["class": "numbers"]) { page in
        page.element("summary", "Numbers")
        page.element("table") { page in
          page.element("tr") { page in for column in columns { page.element("th", ["scope": "col"], column) } }
          for row in rows { page.element("tr") { page in for cell in row { page.element("td", cell) } } }
        }
      }
    }
  }
}

extension HTMLPage {
  /// A rectangle of SVG with a tooltip.
  mutating func bar(_ style: String?, x: Double, y: Double, width: Double, height: Double, tip: String? = nil) {
    let corner = (x: coordinate(x), y: coordinate(y))
    let size = (width: coordinate(width), height: coordinate(height))
    element("rect", ["class": style, "x": corner.x, "y": corner.y, "width": size.width, "height": size.height]) { page in
      if let tip { page.element("title", tip) }
    }
  }

  mutating func rule(_ style: String, from start: (x: Double, y: Double), to end: (x: Double, y: Double)) {
    let from = (coordinate(start.x), coordinate(start.y))
    element("line", ["class": style, "x1": from.0, "y1": from.1, "x2": coordinate(end.x), "y2": coordinate(end.y)], "")
  }

  /// A word of SVG whose start, middle or end (`text-anchor`) is at `x`.
  mutating func label(_ text: String, x: Double, y: Double, anchor: String = "middle", style: String? = nil) {
    element("text", ["x": coordinate(x), "y": coordinate(y), "text-anchor": anchor, "class": style], text)
  }
}

func coordinate(_ value: Double) -> String {
  let tenths = Int((min(max(value, -1e6), 1e6) * 10).rounded())
  return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
}

extension HTMLPage {
  mutating func writeCharts(_ report: FinishedReport) {
    let hasTimeline = report.timeline.map { !$0.steps.isEmpty && $0.step > .zero } ?? false
    guard report.totals.urls > 0, report.isLong || report.end.duration == .zero, report.traffic.latency.count > 0 || hasTimeline
    else { return }
    section("speed", "Speed") { page in
      page.element("div", ["class": "charts"]) { page in
        page.writeLatency(report.traffic.latency)
        if hasTimeline, let timeline = report.timeline { page.writeTimeline(timeline, of: report) }
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
      // Fractions of a transfer need no label.
      page.grid(chart.frame) { UInt64(exactly: $0).map { grouped($0) } ?? "" }
      for tick in chart.ticks {
        page.label(tickLatency(tick), x: chart.x(milliseconds: tick), y: chart.frame.bottom + 18)
      }
      for bucket in histogram.buckets where bucket.count > 0 {
        let edges = (chart.x(milliseconds: bucket.upperBound / chart.step), chart.x(milliseconds: bucket.upperBound))
        let top = min(chart.frame.y(Double(bucket.count)), chart.frame.bottom - 1)
        page.bar(
          "o-any",
          x: edges.0 + 0.5,
          y: top,
          width: max(edges.1 - edges.0 - 1, 1),
          height: chart.frame.bottom - top,
          tip: "\(latency(bucket.upperBound / chart.step)) to \(latency(bucket.upperBound)): \(grouped(bucket.count))"
        )
      }
      page.mark("median \(latency(chart.median))", at: chart.x(milliseconds: chart.median), in: chart.frame, row: 0)
      page.mark("p99 \(latency(chart.late))", at: chart.x(milliseconds: chart.late), in: chart.frame, row: 1)
    }
  }

  /// A vertical line with words at its top: on its right, or on its left if they don't fit.
  private mutating func mark(_ words: String, at x: Double, in frame: ChartFrame, row: Int) {
    let y = 13 + 16 * Double(row)
    rule("guide", from: (x, y + 3), to: (x, frame.bottom))
    // A letter is 8 units wide where the style draws them at 15.
    let isLeft = x + 8 * Double(words.count) > frame.right
    label(words, x: isLeft ? x - 4 : x + 4, y: y + 3, anchor: isLeft ? "end" : "start", style: "strong")
  }
}

/// The chart of a latency histogram: bars of equal width, since its buckets grow by the same factor.
private struct LatencyChart {
  /// From one bound to the next: four buckets per octave; see ``LatencyHistogram``.
  let step = exp2(0.25)
  /// The chart has room for at least this many buckets, so that a few don't fill it.
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
      "\(counted(histogram.count, "transfer")): \(latency(median)) median, \(ninety) p90, \(latency(late)) p99, "
      + "\(longest) the longest"
    let first = log2(buckets.first?.upperBound ?? 1) - 0.25
    let last = log2(buckets.last?.upperBound ?? 1)
    let missing = max(Self.leastBuckets - (last - first) * 4, 0) / 8
    low = first - missing
    high = last + missing
  }

  func x(milliseconds: Double) -> Double { frame.x((log2(max(milliseconds, 0.001)) - low) / (high - low)) }

  /// Round times within the range, as many as fit.
  var ticks: [Double] {
    let isWide = high - low > 7
    let decades = (-2...8).map { pow(10, Double($0)) }
    let all = decades.flatMap { decade in (isWide ? [1.0] : [1.0, 2.0, 5.0]).map { $0 * decade } }
    return all.filter { log2($0) >= low && log2($0) <= high }
  }
}

/// `0.1 ms`, `5 ms`, `20 s`: a round time without useless decimals.
private func tickLatency(_ milliseconds: Double) -> String {
  milliseconds >= 1 && milliseconds < 9.5 ? fixed(milliseconds, decimals: 0) + " ms" : latency(milliseconds)
}

extension HTMLPage {
  /// URLs per second in each step of the run, bad ones in another colour, and bytes per second below.
  mutating func writeTimeline(_ timeline: Timeline, of report: FinishedReport) {
    let chart = TimelineChart(timeline, of: report)
    self.chart(
      "Throughput over time",
      chart.sentence,
      columns: ["until", "URLs", "bad", "received"],
      rows: zip(timeline.steps, chart.spans).map { step, span in
        [elapsed(.seconds(span.end)), grouped(step.urls), grouped(step.bad), byteCount(Double(step.receivedBytes))]
      }
    ) { page in
      page.label("URLs per second", x: chart.frame.left, y: 15, anchor: "start", style: "strong")
      page.grid(chart.frame) { $0 < 1 ? fixed($0, decimals: 1) : grouped(UInt64(min($0, 1e18))) }
      for tick in chart.ticks {
        page.label(tickTime(tick, step: chart.tickStep), x: chart.x(seconds: tick), y: ChartFrame.height - 6)
      }
      for (step, span) in zip(timeline.steps, chart.spans) { page.write(step, span, chart) }
      if chart.hasBytes { page.writeBytes(timeline, chart) }
    }
  }

  private mutating func write(_ step: Timeline.Step, _ span: TimelineChart.Span, _ chart: TimelineChart) {
    guard step.urls > 0 else { return }
    let (start, end) = (chart.x(seconds: span.start), chart.x(seconds: span.end))
    let width = max(end - start - (end - start > 4 ? 1 : 0), 0.5)
    let seconds = span.end - span.start
    let top = chart.frame.y(Double(step.urls) / seconds)
    let bad = chart.frame.bottom - chart.frame.y(Double(step.bad) / seconds)
    let words = "until \(elapsed(.seconds(span.end))): \(rate(Double(step.urls) / seconds)), \(grouped(step.bad)) bad"
    bar("o-any", x: start, y: top + bad, width: width, height: max(chart.frame.bottom - top - bad, 0), tip: words)
    if step.bad > 0 { bar("o-failed", x: start, y: top, width: width, height: max(bad, 1), tip: words) }
  }

  /// A separate strip, since URLs and bytes don't share a scale.
  private mutating func writeBytes(_ timeline: Timeline, _ chart: TimelineChart) {
    let frame = chart.byteFrame
    rule("axis", from: (frame.left, frame.bottom), to: (frame.right, frame.bottom))
    label("bytes", x: frame.left - 6, y: frame.bottom - 2, anchor: "end")
    for (step, span) in zip(timeline.steps, chart.spans) where step.receivedBytes > 0 {
      let (start, end) = (chart.x(seconds: span.start), chart.x(seconds: span.end))
      let bytes = Double(step.receivedBytes) / (span.end - span.start)
      bar(
        "o-any",
        x: start,
        y: frame.y(bytes),
        width: max(end - start - (end - start > 4 ? 1 : 0), 0.5),
        height: frame.bottom - frame.y(bytes),
        tip: "until \(elapsed(.seconds(span.end))): \(byteCount(bytes))/s"
      )
    }
  }
}

/// The chart of a timeline: the width of a bar is the length of its step, so that areas are counts.
private struct TimelineChart {
  /// The start and end of a step in seconds from the start of the run.
  struct Span {
    var start: Double
    var end: Double
  }

  private static let byteStripHeight = 36.0

  let spans: [Span]
  let hasBytes: Bool
  let sentence: String
  let tickStep: Double
  private(set) var frame: ChartFrame
  private(set) var byteFrame: ChartFrame
  private let seconds: Double

  init(_ timeline: Timeline, of report: FinishedReport) {
    let duration = report.end.duration
    let step = timeline.step.inSeconds
    let count = timeline.steps.count
    // The end of the run may have cut the last step; the rate of a very short one would be chance, unless it is the whole run.
    let shortest = count == 1 ? min(step / 4, max(duration.inSeconds, 1e-6)) : step / 4
    let last = min(max(duration.inSeconds - Double(count - 1) * step, shortest), step)
    let seconds = Double(count - 1) * step + last
    spans = (0..<count).map { Span(start: Double($0) * step, end: $0 == count - 1 ? seconds : Double($0 + 1) * step) }
    self.seconds = seconds
    let lengths = spans.map { $0.end - $0.start }
    let rates = zip(timeline.steps, lengths).map { Double($0.urls) / $1 }
    let byteRates = zip(timeline.steps, lengths).map { Double($0.receivedBytes) / $1 }
    hasBytes = timeline.steps.contains { $0.receivedBytes > 0 }
    frame = ChartFrame(upTo: rates.max() ?? 1)
    byteFrame = ChartFrame(upTo: byteRates.max() ?? 1)
    if hasBytes {
      frame.bottom -= Self.byteStripHeight + 8
      byteFrame.top = byteFrame.bottom - Self.byteStripHeight
    }
    let (mean, meanBytes) = (report.urlsPerSecond, report.bytesPerSecond)
    let traffic = hasBytes ? "; \(byteCount(meanBytes))/s, peak \(byteCount(max(byteRates.max() ?? 0, meanBytes)))/s" : ""
    let bad = report.totals.bad > 0 ? "; bad URLs in red" : ""
    sentence = "\(rate(mean)) on average, peak \(rate(max(rates.max() ?? 0, mean)))\(traffic)\(bad)"
    let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1200, 3600, 7200, 18_000, 36_000, 86_400]
    tickStep = steps.first { seconds / $0 <= 5 } ?? roundStep(seconds)
  }

  func x(seconds: Double) -> Double { frame.x(seconds / self.seconds) }

  var ticks: [Double] { (0...Int(seconds / tickStep)).map { Double($0) * tickStep } }
}

/// `0`, `200 ms`, `5 s`, `20 min`, `2 h`: a multiple of `step`, both in seconds.
private func tickTime(_ seconds: Double, step: Double) -> String {
  if seconds == 0 { return "0" }
  if step < 1 { return fixed(seconds * 1000, decimals: 0) + " ms" }
  if step < 60 { return fixed(seconds, decimals: 0) + " s" }
  return step < 3600 ? fixed(seconds / 60, decimals: 0) + " min" : fixed(seconds / 3600, decimals: 0) + " h"
}

extension HTMLPage {
  /// The bad URLs of the last runs, a bar for each.
  mutating func writeTrend(_ report: FinishedReport) {
    let points = report.trend
    guard points.count > 1, let phrase = report.trendPhrase else { return }
    section("trend", "Trend") { page in
      page.element("div", ["class": "charts"]) { page in
        page.chart(
          "Bad URLs per run",
          phrase,
          columns: ["ended", "URLs", "bad", "new", "took"],
          rows: points.map { point in
            [
              point.finishedAt?.shortText ?? "–", grouped(point.urls), grouped(point.bad), grouped(point.new),
              elapsed(point.duration),
            ]
          }
        ) { page in page.writeBars(of: points) }
      }
    }
  }

  private mutating func writeBars(of points: [TrendPoint]) {
    let frame = ChartFrame(upTo: max(Double(points.map(\.bad).max() ?? 1), 1))
    grid(frame) { UInt64(exactly: $0).map { grouped($0) } ?? "" }
    let width = (frame.right - frame.left) / Double(max(points.count, 8))
    for (index, point) in points.enumerated() where point.bad > 0 {
      let top = min(frame.y(Double(point.bad)), frame.bottom - 1)
      let tip = "\(point.finishedAt?.shortText ?? "unknown time"): \(grouped(point.bad)) of \(counted(point.urls, "URL")) bad"
      bar("o-failed", x: frame.left + Double(index) * width + 1, y: top, width: width - 2, height: frame.bottom - top, tip: tip)
    }
    for (point, x, anchor) in [
      (points[0], frame.left, "start"), (points[points.count - 1], frame.left + width * Double(points.count), "end"),
    ] {
      guard let day = point.finishedAt?.iso8601.prefix(10), anchor == "start" || points.count >= 5 else { continue }
      label(String(day), x: x, y: frame.bottom + 18, anchor: anchor)
    }
  }
}
