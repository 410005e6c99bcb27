import ImagePrimitives

/// Writes the elements of a page into a buffer; all text goes through ``OutputBuffer/appendHTML(_:)``.
struct HTMLPage: ~Copyable {
  /// Names and values; one without a value is left out.
  typealias Attributes = KeyValuePairs<StaticString, String?>

  private(set) var output = OutputBuffer(capacity: 262_144)

  /// An element with what `content` writes in it.
  mutating func element(_ name: StaticString, _ attributes: Attributes = [:], _ content: (inout HTMLPage) -> Void) {
    open(name, attributes)
    content(&self)
    output.appendLiteral("</")
    output.appendLiteral(name)
    output.appendLiteral(">")
  }

  mutating func element(_ name: StaticString, _ attributes: Attributes, _ text: String) {
    element(name, attributes) { $0.text(text) }
  }

  mutating func element(_ name: StaticString, _ text: String) { element(name, [:], text) }

  /// The start of an element, which is all of it for such as have no end.
  mutating func open(_ name: StaticString, _ attributes: Attributes = [:]) {
    output.appendLiteral("<")
    output.appendLiteral(name)
    for (name, value) in attributes {
      guard let value else { continue }
      output.appendLiteral(" ")
      output.appendLiteral(name)
      output.appendLiteral("=\"")
      output.appendHTML(value)
      output.appendLiteral("\"")
    }
    output.appendLiteral(">")
  }

  mutating func text(_ text: String) { output.appendHTML(text) }

  /// Text from outside, or as much of it as `limit` scalars are.
  mutating func text(_ text: String, limit: Int) { output.appendHTML(text.shortened(to: limit)) }

  /// Markup that is known when compiling.
  mutating func markup(_ markup: StaticString) { output.appendLiteral(markup) }

  /// Markup of this module's source, which holds nothing from outside.
  mutating func markup(verbatim markup: String) { output.append(markup) }

  /// A picture within the page (RFC 2397).
  mutating func picture(_ thumbnail: Thumbnail, description: String) {
    markup("<img src=\"data:")
    text(thumbnail.pictureFormat.mediaType)
    markup(";base64,")
    output.append(thumbnail.picture.base64)
    markup("\" width=\"")
    output.append(decimal: UInt64(thumbnail.pictureWidth))
    markup("\" height=\"")
    output.append(decimal: UInt64(thumbnail.pictureHeight))
    markup("\" loading=\"lazy\" decoding=\"async\" alt=\"")
    text(description, limit: 120)
    markup("\">")
  }
}

extension HTMLPage {
  mutating func section(_ id: StaticString, _ title: String, _ content: (inout HTMLPage) -> Void) {
    element("section", ["id": "\(id)"]) { page in
      page.element("h2", title)
      content(&page)
    }
  }

  /// Writes rows while both limits hold, and returns how many it wrote.
  ///
  /// - Parameter bytes: What all of them may take together; the row that passes it is the last.
  mutating func rows<Row>(_ rows: some Collection<Row>, limit: Int, bytes: Int, _ write: (inout HTMLPage, Row) -> Void) -> Int {
    let end = output.count + bytes
    var written = 0
    for row in rows {
      if written == limit || output.count >= end { break }
      write(&self, row)
      written += 1
    }
    return written
  }

  /// Writes a list of items while both limits hold, and returns how many it wrote.
  mutating func list<Item>(
    _ name: StaticString,
    style: String? = nil,
    _ items: some Collection<Item>,
    limit: Int,
    bytes: Int,
    _ write: (inout HTMLPage, Item) -> Void
  ) -> Int {
    var shown = 0
    element(name, ["class": style]) { page in
      shown = page.rows(items, limit: limit, bytes: bytes) { page, item in page.element("li") { write(&$0, item) } }
    }
    return shown
  }

  /// A line on what a list left out; nothing if it left out nothing.
  mutating func omission(_ count: UInt64, _ noun: String, plural: String? = nil, _ rest: String = "") {
    guard count > 0 else { return }
    element("p", ["class": "more"], "… \(counted(count, noun, plural: plural))\(rest)")
  }
}

extension OutputBuffer {
  /// Appends text from anywhere as HTML: the one place where text becomes part of a page.
  ///
  /// The five characters that mean something in text or in a quoted attribute are character references (HTML Standard, 13.1.4),
  /// so one form does for both, and for SVG within the page. What is hidden or steers the order of text shows as in a terminal.
  mutating func appendHTML(_ text: String) {
    appendVisible(text, replacing: Self.characterReference)
  }

  private static func characterReference(of byte: UInt8) -> StaticString? {
    switch byte {
    case UInt8(ascii: "&"): "&amp;"
    case UInt8(ascii: "<"): "&lt;"
    case UInt8(ascii: ">"): "&gt;"
    case UInt8(ascii: "\""): "&quot;"
    case UInt8(ascii: "'"): "&#39;"
    default: nil
    }
  }
}

extension HTMLPage {
  /// A table with rows while both limits hold; returns how many it has.
  ///
  /// Its frame scrolls, so that the page doesn't; the script lets it sort and filter.
  ///
  /// - Parameters:
  ///   - name: its subject, for people who can't see it.
  ///   - titles: its columns; one that begins with `#` is of numbers.
  ///   - sorted: the column by which its rows are sorted already, descending.
  mutating func table<Row>(
    _ name: String,
    _ titles: [String],
    style: String? = nil,
    sorted: Int? = nil,
    _ rows: some Collection<Row>,
    limit: Int,
    bytes: Int,
    _ write: (inout HTMLPage, Row) -> Void
  ) -> Int {
    var shown = 0
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
        page.element("tbody") { page in
          shown = page.rows(rows, limit: limit, bytes: bytes) { page, row in page.element("tr") { write(&$0, row) } }
        }
      }
    }
    return shown
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

extension HTMLPage {
  /// What a page shows of a URL at most, in scalars.
  static let urlLimit = 300

  /// A URL from outside: a link where following it asks just what is shown.
  ///
  /// - Parameter name: shown in its place; the URL is then the tooltip.
  mutating func url(_ url: String, as name: String? = nil) {
    let title = name == nil ? nil : url.shortened(to: Self.urlLimit)
    let content = { (page: inout HTMLPage) in page.text(name ?? url, limit: Self.urlLimit) }
    guard url.isSafeLink else { return element("span", ["class": "url", "title": title], content) }
    // The page sends no referrer (rel, and the policy at its head), and the server's page cannot reach back into this one.
    element(
      "a",
      ["class": "url", "href": url, "title": title, "target": "_blank", "rel": "noreferrer noopener nofollow"],
      content
    )
  }

  /// A line for a shell, which the script lets copy.
  mutating func shellLine(_ line: String) {
    element("div", ["class": "line"]) { $0.element("code", line) }
  }
}

extension String {
  /// Whether this is the very URL of an image on a server: of http or https, not too long for a page, and with nothing in it that
  /// is hidden, masked, or was no UTF-8.
  var isSafeLink: Bool {
    guard utf8.count <= 2048, hasWebScheme, !contains("***@") else { return false }
    return unicodeScalars.allSatisfy { !isHidden($0.value) && $0 != " " && $0 != "\u{FFFD}" && $0 != "\\" }
  }

  private var hasWebScheme: Bool {
    let scheme = String(unicodeScalars.prefix(8)).lowercased()
    return scheme.hasPrefix("http://") || scheme == "https://"
  }
}
