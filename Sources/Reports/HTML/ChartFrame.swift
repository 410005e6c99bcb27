import Glibc

/// The room of a chart in the units of its SVG, and where values stand in it.
struct ChartFrame {
  /// The whole picture; the style makes its letters larger where it is drawn small.
  static let width = 440.0
  static let height = 230.0

  /// The edges of the plot within the picture.
  var left = 52.0
  var right = width - 8
  var top = 38.0
  var bottom = height - 24
  /// The value at the upper edge; the lower one is 0.
  var maximum: Double

  /// A frame up to the first round number that is not below `value`.
  init(upTo value: Double) { maximum = max(roundStep(value) * (value / roundStep(value)).rounded(.up), 1e-9) }

  /// Where a value stands.
  func y(_ value: Double) -> Double { bottom - min(value / maximum, 1) * (bottom - top) }

  /// Where a fraction of the horizontal axis stands.
  func x(_ fraction: Double) -> Double { left + min(max(fraction, 0), 1) * (right - left) }

  /// Values for lines across, above 0.
  var gridValues: [Double] {
    let step = roundStep(maximum)
    let count = Int((maximum / step).rounded())
    return (1...max(count, 1)).map { Double($0) * step }
  }
}

/// A step of 1, 2 or 5 times a power of ten of which `value` has two to four, or just above.
func roundStep(_ value: Double) -> Double {
  let value = max(value, 1e-6)
  let power = pow(10, floor(log10(value / 2)))
  let ratio = value / 2 / power
  return power * (ratio >= 5 ? 5 : ratio >= 2 ? 2 : 1)
}

extension HTMLPage {
  /// The lines across and their values, and the axis.
  mutating func grid(_ frame: ChartFrame, _ words: (Double) -> String) {
    for value in frame.gridValues {
      rule("grid", from: (frame.left, frame.y(value)), to: (frame.right, frame.y(value)))
      label(words(value), x: frame.left - 6, y: frame.y(value) + 4, anchor: "end")
    }
    rule("axis", from: (frame.left, frame.bottom), to: (frame.right, frame.bottom))
  }

  /// A chart with a title above and a sentence below it, and its numbers as a table for who wants them or cannot see it.
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
