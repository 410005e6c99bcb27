import ImagePrimitives

extension HTMLPage {
  /// URLs a second in each step of the run, the bad ones of them told apart, and bytes a second below.
  mutating func writeTimeline(_ timeline: Timeline, of duration: Duration) {
    let chart = TimelineChart(timeline, duration: duration)
    self.chart(
      "Throughput over time",
      chart.sentence,
      columns: ["until", "URLs", "bad", "received"],
      rows: zip(timeline.steps, chart.spans).map { step, span in
        [elapsed(.seconds(span.end)), grouped(step.urls), grouped(step.bad), byteCount(Double(step.receivedBytes))]
      }
    ) { page in
      page.label("URLs a second", x: chart.frame.left, y: 15, anchor: "start", style: "strong")
      page.grid(chart.frame) { $0 < 1 ? fixed($0, decimals: 1) : grouped(UInt64($0)) }
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
    bar("o-disk", x: start, y: top + bad, width: width, height: max(chart.frame.bottom - top - bad, 0), tip: words)
    if step.bad > 0 { bar("o-failed", x: start, y: top, width: width, height: max(bad, 1), tip: words) }
  }

  /// A strip of its own, since URLs and bytes have no scale in common.
  private mutating func writeBytes(_ timeline: Timeline, _ chart: TimelineChart) {
    let frame = chart.byteFrame
    rule("axis", from: (frame.left, frame.bottom), to: (frame.right, frame.bottom))
    label("bytes", x: frame.left - 6, y: frame.bottom - 2, anchor: "end")
    for (step, span) in zip(timeline.steps, chart.spans) where step.receivedBytes > 0 {
      let (start, end) = (chart.x(seconds: span.start), chart.x(seconds: span.end))
      let bytes = Double(step.receivedBytes) / (span.end - span.start)
      bar(
        "o-downloaded",
        x: start,
        y: frame.y(bytes),
        width: max(end - start - (end - start > 4 ? 1 : 0), 0.5),
        height: frame.bottom - frame.y(bytes),
        tip: "until \(elapsed(.seconds(span.end))): \(byteCount(bytes))/s"
      )
    }
  }
}

/// What a timeline looks like: bars as wide as their steps are long, so that areas are counts.
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

  init(_ timeline: Timeline, duration: Duration) {
    let step = timeline.step.inSeconds
    let count = timeline.steps.count
    // The last step may have been cut; one that hardly began would show a rate of nothing but chance.
    let last = min(max(duration.inSeconds - Double(count - 1) * step, step / 4), step)
    let seconds = Double(count - 1) * step + last
    spans = (0..<count).map { Span(start: Double($0) * step, end: $0 == count - 1 ? seconds : Double($0 + 1) * step) }
    self.seconds = seconds
    let lengths = spans.map { $0.end - $0.start }
    let rates = zip(timeline.steps, lengths).map { Double($0.urls) / $1 }
    let byteRates = zip(timeline.steps, lengths).map { Double($0.receivedBytes) / $1 }
    let (urls, bytes) = (timeline.steps.reduce(0) { $0 + $1.urls }, timeline.steps.reduce(0) { $0 + $1.receivedBytes })
    hasBytes = bytes > 0
    frame = ChartFrame(upTo: rates.max() ?? 1)
    byteFrame = ChartFrame(upTo: byteRates.max() ?? 1)
    if hasBytes {
      frame.bottom -= Self.byteStripHeight + 8
      byteFrame.top = byteFrame.bottom - Self.byteStripHeight
    }
    let mean = rate(Double(urls) / seconds)
    let traffic = hasBytes ? "; \(byteCount(Double(bytes) / seconds))/s, at most \(byteCount(byteRates.max() ?? 0))/s" : ""
    sentence = "\(mean) on average, at most \(rate(rates.max() ?? 0))\(traffic)"
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
