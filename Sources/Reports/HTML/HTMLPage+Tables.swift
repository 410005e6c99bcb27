extension HTMLPage {
  /// A table in a frame of its own that scrolls, so that the page does not; the script lets it sort and filter.
  ///
  /// - Parameters:
  ///   - name: What it is of, for who cannot see it.
  ///   - titles: Its columns; one that begins with `#` is of numbers.
  ///   - sorted: The column by which its rows are sorted already, descending.
  mutating func table(
    _ name: String,
    _ titles: [String],
    style: String? = nil,
    sorted: Int? = nil,
    _ rows: (inout HTMLPage) -> Void
  ) {
    element("div", ["class": "frame", "tabindex": "0", "role": "region", "aria-label": name]) { page in
      page.element("table", ["class": style]) { page in
        page.element("thead") { page in
          page.element("tr") { page in
            for (column, title) in titles.enumerated() {
              let isNumber = title.hasPrefix("#")
              page.element(
                "th",
                ["scope": "col", "class": isNumber ? "n" : nil, "aria-sort": column == sorted ? "descending" : nil],
                isNumber ? String(title.dropFirst()) : title
              )
            }
          }
        }
        page.element("tbody") { rows(&$0) }
      }
    }
  }

  /// A cell with a count; none shows as a dash.
  mutating func number(_ value: UInt64, isBad: Bool = false) {
    let style = isBad && value > 0 ? "n bad" : "n"
    element("td", ["class": style, "data-v": String(value)], value == 0 ? "–" : grouped(value))
  }

  /// A cell with a measured value as `words` has it; one that was not measured is a dash.
  mutating func number(_ value: Double?, isBad: Bool = false, _ words: (Double) -> String) {
    let thousandths = value.map { String(UInt64(min(max($0 * 1000, 0), 1e18))) }
    element("td", ["class": isBad ? "n bad" : "n", "data-v": thousandths], value.map(words) ?? "–")
  }

  /// A cell with text from outside, which names its row.
  mutating func rowHeader(_ text: String, limit: Int) {
    element("th", ["scope": "row"]) { $0.text(text, limit: limit) }
  }
}
