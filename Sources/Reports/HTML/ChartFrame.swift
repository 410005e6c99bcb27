import Base
import Glibc

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

  var gridValues: [Double] {
    let step = roundStep(maximum)
    let count = Int((maximum / step).rounded())
    return (1...max(count, 1)).map { Double($0) * step }
  }

  var axis: HTML { .rule("axis", from: (left, bottom), to: (right, bottom)) }

  /// A word below the axis, with its middle at `x` unless its end, 24 from there at most, would be outside of the picture.
  func tick(_ words: String, at x: Double) -> HTML { .label(words, x: min(x, Self.width - 24), y: Self.height - 6) }

  func grid(_ words: (Double) -> String) -> [HTML] {
    gridValues.flatMap { value in
      [
        HTML.rule("grid", from: (left, y(value)), to: (right, y(value))),
        HTML.label(words(value), x: left - 6, y: y(value) + 4, anchor: "end"),
      ]
    } + [axis]
  }

  /// A bar from the axis up to `value`, at least as high as `least`.
  func bar(_ style: String, _ value: Double, from start: Double, width: Double, least: Double = 0, tip: String) -> HTML {
    let top = min(y(value), bottom - least)
    return .bar(style, x: start, y: top, width: width, height: bottom - top, tip: tip)
  }
}

/// Returns a step of 1, 2 or 5 times a power of ten that goes into `value` two to five times.
func roundStep(_ value: Double) -> Double {
  let value = max(value, 1e-6)
  let power = pow(10, floor(log10(value / 2)))
  let ratio = value / 2 / power
  return power * (ratio >= 5 ? 5 : ratio >= 2 ? 2 : 1)
}

extension HTML {
  static func bar(_ style: String?, x: Double, y: Double, width: Double, height: Double, tip: String? = nil) -> HTML {
    let title = tip.map { "<title>\($0)</title>" as HTML }
    return #"<rect\#(class: style) x="\#(x)" y="\#(y)" width="\#(width)" height="\#(height)">\#(title)</rect>"#
  }

  static func rule(_ style: String, from start: (x: Double, y: Double), to end: (x: Double, y: Double)) -> HTML {
    #"<line class="\#(style)" x1="\#(start.x)" y1="\#(start.y)" x2="\#(end.x)" y2="\#(end.y)"></line>"#
  }

  /// A word whose start, middle or end (`text-anchor`) is at `x`.
  static func label(_ text: String, x: Double, y: Double, anchor: String = "middle", style: String? = nil) -> HTML {
    #"<text x="\#(x)" y="\#(y)" text-anchor="\#(anchor)"\#(class: style)>\#(text)</text>"#
  }

  /// A chart with a title above and a sentence below it, and a table of its numbers, for people who can't see it, too.
  fileprivate static func chart(
    _ title: String,
    _ sentence: String,
    columns: [String],
    rows: [[String]],
    _ drawing: [HTML]
  ) -> HTML {
    let heads = columns.map { #"<th scope="col">\#($0)</th>"# as HTML }
    let body = rows.map { "<tr>\($0.map { "<td>\($0)</td>" as HTML })</tr>" as HTML }
    let name = "\(title): \(sentence)"
    return """
      <figure><h3>\(title)</h3><svg class="chart" viewBox="0 0 \(ChartFrame.width) \(ChartFrame.height)" role="img" aria-label="\(name)">\
      <title>\(name)</title>\(drawing)</svg><figcaption>\(sentence)</figcaption>\
      <details class="numbers"><summary>Numbers</summary><table><tr>\(heads)</tr>\(body)</table></details></figure>
      """
  }
}

extension HTMLPage {
  var charts: Section? {
    let timeline = report.timeline.flatMap { $0.steps.isEmpty || $0.step <= .zero ? nil : TimelineChart($0, of: report).html }
    let latency = report.traffic.latency.count > 0 ? LatencyChart(report.traffic.latency).html : nil
    guard report.totals.urls > 0, report.isLong || report.end.duration == .zero, latency != nil || timeline != nil else {
      return nil
    }
    return Section("speed", "Speed", #"<div class="charts">\#(latency)\#(timeline)</div>"#)
  }

  var trend: Section? {
    let points = report.trend
    guard points.count > 1, let phrase = report.trendPhrase else { return nil }
    let frame = ChartFrame(upTo: max(Double(points.map(\.bad).max() ?? 1), 1))
    let width = (frame.right - frame.left) / Double(max(points.count, 8))
    let bars = points.enumerated().filter { $0.element.bad > 0 }.map { index, point in
      let tip = "\(point.finishedAt?.shortText ?? "unknown time"): \(grouped(point.bad)) of \(counted(point.urls, "URL")) bad"
      let start = frame.left + Double(index) * width + 1
      return frame.bar("o-failed", Double(point.bad), from: start, width: width - 2, least: 1, tip: tip)
    }
    let ends = [(points[0], frame.left, "start"), (points[points.count - 1], frame.left + width * Double(points.count), "end")]
    let days = ends.prefix(points.count >= 5 ? 2 : 1).compactMap { point, x, anchor in
      point.finishedAt.map { HTML.label(String($0.iso8601.prefix(10)), x: x, y: frame.bottom + 18, anchor: anchor) }
    }
    let rows = points.map { point in
      let counts = [point.urls, point.bad, point.new].map(grouped)
      return [point.finishedAt?.shortText ?? "–"] + counts + [elapsed(point.duration)]
    }
    let columns = ["ended", "URLs", "bad", "new", "took"]
    let chart = HTML.chart("Bad URLs per run", phrase, columns: columns, rows: rows, frame.grid(wholeNumber) + bars + days)
    return Section("trend", "Trend", #"<div class="charts">\#(chart)</div>"#)
  }
}

/// Fractions of a transfer or a URL need no label.
private func wholeNumber(_ value: Double) -> String { UInt64(exactly: value).map { grouped($0) } ?? "" }

/// The chart of a latency histogram: bars of equal width, since its buckets grow by the same factor.
private struct LatencyChart {
  /// From one bound to the next: four buckets per octave; see ``LatencyHistogram``.
  private static let step = exp2(0.25)
  /// The chart has room for at least this many buckets, so that a few don't fill it.
  private static let leastBuckets = 16.0

  private let histogram: LatencyHistogram
  private let frame: ChartFrame
  /// The base-2 logarithms of the edges.
  private let low: Double
  private let high: Double

  init(_ histogram: LatencyHistogram) {
    self.histogram = histogram
    let buckets = histogram.buckets
    frame = ChartFrame(upTo: Double(buckets.map(\.count).max() ?? 1))
    let first = log2(buckets.first?.upperBound ?? 1) - 0.25
    let last = log2(buckets.last?.upperBound ?? 1)
    let missing = max(Self.leastBuckets - (last - first) * 4, 0) / 8
    low = first - missing
    high = last + missing
  }

  var html: HTML {
    let (median, ninety, late) = (histogram.percentile(0.5) ?? 0, histogram.percentile(0.9) ?? 0, histogram.percentile(0.99) ?? 0)
    let times = "\(latency(median)) median, \(latency(ninety)) p90, \(latency(late)) p99"
    let sentence = "\(counted(histogram.count, "transfer")): \(times), \(latency(histogram.maximumMilliseconds)) the longest"
    let labels = ticks.map { frame.tick(words(ofTick: $0), at: x($0)) }
    let bars = histogram.buckets.filter { $0.count > 0 }.map { bound, count in
      let tip = "\(latency(bound / Self.step)) to \(latency(bound)): \(grouped(count))"
      let start = x(bound / Self.step)
      return frame.bar("o-any", Double(count), from: start + 0.5, width: max(x(bound) - start - 1, 1), least: 1, tip: tip)
    }
    let marks = mark("median \(latency(median))", at: x(median), row: 0) + mark("p99 \(latency(late))", at: x(late), row: 1)
    let rows = histogram.buckets.map { [latency($0.upperBound), grouped($0.count)] }
    let drawing = frame.grid(wholeNumber) + labels + bars + marks
    return HTML.chart("Latency of transfers", sentence, columns: ["up to", "transfers"], rows: rows, drawing)
  }

  private func x(_ milliseconds: Double) -> Double { frame.x((log2(max(milliseconds, 0.001)) - low) / (high - low)) }

  /// Round times within the range, as many as fit.
  private var ticks: [Double] {
    let isWide = high - low > 7
    let decades = (-2...8).map { pow(10, Double($0)) }
    let all = decades.flatMap { decade in (isWide ? [1.0] : [1.0, 2.0, 5.0]).map { $0 * decade } }
    return all.filter { log2($0) >= low && log2($0) <= high }
  }

  /// `0.1 ms`, `5 ms`, `20 s`: a round time without useless decimals.
  private func words(ofTick milliseconds: Double) -> String {
    milliseconds >= 1 && milliseconds < 9.5 ? fixed(milliseconds, decimals: 0) + " ms" : latency(milliseconds)
  }

  /// A vertical line with words at its top: on its right, or on its left if they don't fit.
  private func mark(_ words: String, at x: Double, row: Int) -> [HTML] {
    let y = 13 + 16 * Double(row)
    // A letter is 8 units wide where the style draws them at 15.
    let isLeft = x + 8 * Double(words.count) > frame.right
    let label = HTML.label(words, x: isLeft ? x - 4 : x + 4, y: y + 3, anchor: isLeft ? "end" : "start", style: "strong")
    return [HTML.rule("guide", from: (x, y + 3), to: (x, frame.bottom)), label]
  }
}

/// The chart of a timeline: URLs per second in each step of the run, bad ones in another colour, and bytes per second below. The width of
/// a bar is the length of its step, so that areas are counts.
private struct TimelineChart {
  /// A step with its start and end in seconds from the start of the run.
  private struct Span {
    var step: Timeline.Step
    var start: Double
    var end: Double
    var urlRate: Double { Double(step.urls) / (end - start) }
    var byteRate: Double { Double(step.receivedBytes) / (end - start) }
    var until: String { "until \(elapsed(.seconds(end)))" }
  }

  private static let byteStripHeight = 36.0
  private static let tickSteps = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1200, 3600, 7200, 18_000, 36_000, 86_400,
  ]

  private let report: FinishedReport
  private let spans: [Span]
  private let hasBytes: Bool
  private var frame: ChartFrame
  private var byteFrame: ChartFrame
  private let seconds: Double

  init(_ timeline: Timeline, of report: FinishedReport) {
    self.report = report
    let duration = report.end.duration
    let step = timeline.step.inSeconds
    let count = timeline.steps.count
    // The end of the run may have cut the last step; the rate of a very short one would be chance, unless it is the whole run.
    let shortest = count == 1 ? min(step / 4, max(duration.inSeconds, 1e-6)) : step / 4
    let last = min(max(duration.inSeconds - Double(count - 1) * step, shortest), step)
    let seconds = Double(count - 1) * step + last
    self.seconds = seconds
    spans = timeline.steps.enumerated().map { index, counts in
      Span(step: counts, start: Double(index) * step, end: index == count - 1 ? seconds : Double(index + 1) * step)
    }
    hasBytes = spans.contains { $0.step.receivedBytes > 0 }
    frame = ChartFrame(upTo: spans.map(\.urlRate).max() ?? 1)
    byteFrame = ChartFrame(upTo: spans.map(\.byteRate).max() ?? 1)
    if hasBytes {
      frame.bottom -= Self.byteStripHeight + 8
      byteFrame.top = byteFrame.bottom - Self.byteStripHeight
    }
  }

  var html: HTML {
    let tickStep = Self.tickSteps.first { seconds / $0 <= 5 } ?? roundStep(seconds)
    let ticks = (0...Int(seconds / tickStep)).map { Double($0) * tickStep }
    let drawing =
      [HTML.label("URLs per second", x: frame.left, y: 15, anchor: "start", style: "strong")]
      + frame.grid { $0 < 1 ? fixed($0, decimals: 1) : grouped(UInt64(min($0, 1e18))) }
      + ticks.map { frame.tick(time($0, step: tickStep), at: x($0)) }
      + spans.flatMap(bars) + byteStrip
    let rows = spans.map { span in
      [elapsed(.seconds(span.end)), grouped(span.step.urls), grouped(span.step.bad), byteCount(Double(span.step.receivedBytes))]
    }
    let columns = ["until", "URLs", "bad", "received"]
    return HTML.chart("Throughput over time", sentence, columns: columns, rows: rows, drawing)
  }

  private var sentence: String {
    let (mean, meanBytes) = (report.urlsPerSecond, report.bytesPerSecond)
    let peakBytes = max(spans.map(\.byteRate).max() ?? 0, meanBytes)
    let traffic = hasBytes ? "; \(byteCount(meanBytes))/s, peak \(byteCount(peakBytes))/s" : ""
    let bad = report.totals.bad > 0 ? "; bad URLs in red" : ""
    return "\(rate(mean)) on average, peak \(rate(max(spans.map(\.urlRate).max() ?? 0, mean)))\(traffic)\(bad)"
  }

  private func x(_ seconds: Double) -> Double { frame.x(seconds / self.seconds) }

  /// Wide bars leave a gap to the next.
  private func width(_ span: Span) -> Double {
    let width = x(span.end) - x(span.start)
    return max(width > 4 ? width - 1 : width, 0.5)
  }

  private func bars(_ span: Span) -> [HTML] {
    guard span.step.urls > 0 else { return [] }
    let (start, width, top) = (x(span.start), width(span), frame.y(span.urlRate))
    let bad = frame.bottom - frame.y(Double(span.step.bad) / (span.end - span.start))
    let tip = "\(span.until): \(rate(span.urlRate)), \(grouped(span.step.bad)) bad"
    let good = HTML.bar("o-any", x: start, y: top + bad, width: width, height: max(frame.bottom - top - bad, 0), tip: tip)
    guard span.step.bad > 0 else { return [good] }
    return [good, HTML.bar("o-failed", x: start, y: top, width: width, height: max(bad, 1), tip: tip)]
  }

  /// A separate strip, since URLs and bytes don't share a scale.
  private var byteStrip: [HTML] {
    guard hasBytes else { return [] }
    let label = HTML.label("bytes", x: byteFrame.left - 6, y: byteFrame.bottom - 2, anchor: "end")
    return [byteFrame.axis, label]
      + spans.filter { $0.step.receivedBytes > 0 }.map { span in
        let tip = "\(span.until): \(byteCount(span.byteRate))/s"
        return byteFrame.bar("o-any", span.byteRate, from: x(span.start), width: width(span), tip: tip)
      }
  }

  /// `0`, `200 ms`, `5 s`, `20 min`, `2 h`: a multiple of `step`, both in seconds.
  private func time(_ seconds: Double, step: Double) -> String {
    if seconds == 0 { return "0" }
    if step < 1 { return fixed(seconds * 1000, decimals: 0) + " ms" }
    if step < 60 { return fixed(seconds, decimals: 0) + " s" }
    return step < 3600 ? fixed(seconds / 60, decimals: 0) + " min" : fixed(seconds / 3600, decimals: 0) + " h"
  }
}
