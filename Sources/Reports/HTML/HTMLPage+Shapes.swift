extension HTMLPage {
  /// A rectangle of SVG, with what a pointer over it is told.
  mutating func bar(_ style: String?, x: Double, y: Double, width: Double, height: Double, tip: String? = nil) {
    let corner = (x: coordinate(x), y: coordinate(y))
    let size = (width: coordinate(width), height: coordinate(height))
    element("rect", ["class": style, "x": corner.x, "y": corner.y, "width": size.width, "height": size.height]) { page in
      if let tip { page.element("title", tip) }
    }
  }

  /// A line of SVG.
  mutating func rule(_ style: String, from start: (x: Double, y: Double), to end: (x: Double, y: Double)) {
    let from = (coordinate(start.x), coordinate(start.y))
    element("line", ["class": style, "x1": from.0, "y1": from.1, "x2": coordinate(end.x), "y2": coordinate(end.y)], "")
  }

  /// A word of SVG whose start, middle or end (`text-anchor`) stands at `x`.
  mutating func label(_ text: String, x: Double, y: Double, anchor: String = "middle", style: String? = nil) {
    element("text", ["x": coordinate(x), "y": coordinate(y), "text-anchor": anchor, "class": style], text)
  }
}

/// A coordinate of SVG, with one decimal.
func coordinate(_ value: Double) -> String {
  let tenths = Int((min(max(value, -1e6), 1e6) * 10).rounded())
  return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
}
