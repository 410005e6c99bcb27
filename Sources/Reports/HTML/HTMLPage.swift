import Base

/// Writes the elements of a page to a buffer; all text goes through ``OutputBuffer/appendHTML(_:)``.
struct HTMLPage: ~Copyable {
  /// Names and values; an attribute whose value is nil is omitted.
  typealias Attributes = KeyValuePairs<StaticString, String?>

  /// A section that the table of contents names.
  struct Content {
    var id: String
    var title: String
  }

  private(set) var output = OutputBuffer(capacity: 262_144)
  /// The sections so far.
  private(set) var contents: [Content] = []

  /// Writes an element with the content that `content` writes.
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

  /// Writes a start tag, which is all of a void element.
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

  /// Writes text from outside, cut to `limit` scalars.
  mutating func text(_ text: String, limit: Int) { output.appendHTML(text.shortened(to: limit)) }

  /// Writes markup that is known at compile time.
  mutating func markup(_ markup: StaticString) { output.appendLiteral(markup) }

  /// Writes markup of this module, in which all text from outside is escaped already.
  mutating func markup(verbatim markup: String) { output.append(markup) }

  /// Appends all of another page.
  mutating func append(_ other: borrowing HTMLPage) {
    other.output.withUnsafeBytes { output.append($0) }
  }

  /// Returns the markup so far and removes it.
  mutating func take() -> String {
    defer { output.removeAll() }
    return output.text
  }

  /// Writes a picture as a data URL (RFC 2397).
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
  /// Writes a section and adds it to the table of contents. If `title` is nil, `content` writes the heading, and `contents` is the title in
  /// the table.
  mutating func section(_ id: String, _ title: String?, in contents: String? = nil, _ content: (inout HTMLPage) -> Void) {
    self.contents.append(Content(id: id, title: contents ?? title ?? id))
    element("section", ["id": id]) { page in
      if let title { page.element("h2", title) }
      content(&page)
    }
  }

  /// Writes rows while both limits hold, and returns how many it wrote.
  ///
  /// - Parameter bytes: limits all rows together; the row that exceeds it is the last.
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

  /// Writes a line about the omitted items of a list; nothing if there are none.
  mutating func omission(_ count: UInt64, _ noun: String, plural: String? = nil, _ rest: String = "") {
    guard count > 0 else { return }
    element("p", ["class": "more"], "… \(counted(count, noun, plural: plural))\(rest)")
  }
}

extension OutputBuffer {
  /// Appends text as HTML: the only place where text becomes part of a page.
  ///
  /// The five characters with a meaning in text or in a quoted attribute become character references (HTML Standard, 13.1.4), so
  /// that one form serves both, and SVG as well. Invisible characters and those that change the order of text appear escaped, as in a
  /// terminal.
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
  /// Writes a table with rows while both limits hold, and returns how many it wrote.
  ///
  /// Its frame scrolls instead of the page. The script makes it sortable and filterable.
  ///
  /// - Parameters:
  ///   - name: its subject, for screen readers.
  ///   - titles: of its columns; a title that starts with `#` is of a column of numbers.
  ///   - sorted: the column by which the rows are sorted, descending.
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

  /// Writes a cell with a count; 0 appears as a dash.
  mutating func number(_ value: UInt64, isBad: Bool = false) {
    let style = isBad && value > 0 ? "n bad" : "n"
    element("td", ["class": style, "data-v": String(value)], value == 0 ? "–" : grouped(value))
  }

  /// Writes a cell with a measured value, formatted by `words`; an unmeasured one is a dash.
  mutating func number(_ value: Double?, isBad: Bool = false, _ words: (Double) -> String) {
    let thousandths = value.map { String(UInt64(min(max($0 * 1000, 0), 1e18))) }
    element("td", ["class": isBad ? "n bad" : "n", "data-v": thousandths], value.map(words) ?? "–")
  }

  /// Writes a cell with text from outside that names its row.
  mutating func rowHeader(_ text: String, limit: Int) {
    element("th", ["scope": "row"]) { $0.text(text, limit: limit) }
  }
}

extension HTMLPage {
  /// The limit of a URL on a page, in scalars.
  static let urlLimit = 300

  /// Writes a URL from outside: a link if following it requests exactly the URL that is shown.
  ///
  /// - Parameter name: shown instead of the URL, which becomes the tooltip.
  mutating func url(_ url: String, as name: String? = nil) {
    let title = name == nil ? nil : url.shortened(to: Self.urlLimit)
    let content = { (page: inout HTMLPage) in page.text(name ?? url, limit: Self.urlLimit) }
    guard url.isSafeLink else { return element("span", ["class": "url", "title": title], content) }
    element("a", ["class": "url", "href": url, "title": title, "target": "_blank", "rel": Self.linkRelation], content)
  }

  /// Writes a line for a shell; the script adds a button that copies it, and makes the lines of other URLs from `prefix`.
  mutating func shellLine(_ line: String, prefix: String, variant: String) {
    element("div", ["class": "line"]) { $0.element("code", ["data-prefix": prefix, "data-variant": variant], line) }
  }

  /// Writes the list and line of an entry; a page that uses an image is a link.
  mutating func place(_ manifest: String, line: UInt64) {
    let name = manifest.shortened(to: 160)
    if manifest.isSafeLink {
      element("a", ["class": "place", "href": manifest, "target": "_blank", "rel": Self.linkRelation]) { $0.text(name) }
      if line > 0 { element("span", ["class": "place"], ":\(line)") }
    } else {
      element("span", ["class": "place"]) { $0.text(line > 0 ? "\(name):\(line)" : name) }
    }
  }

  /// The server must not learn the page's address, which the page's policy ensures, and its page must not control this one.
  private static var linkRelation: String { "noopener" }
}

extension String {
  /// Whether this is a complete URL of an image on a server: http or https, not too long for a page, and without invisible or masked
  /// characters or invalid UTF-8.
  var isSafeLink: Bool {
    guard utf8.count <= 2048, hasWebScheme, !contains("***@") else { return false }
    return unicodeScalars.allSatisfy { !isHidden($0.value) && $0 != " " && $0 != "\u{FFFD}" && $0 != "\\" }
  }

  private var hasWebScheme: Bool {
    let scheme = String(unicodeScalars.prefix(8)).lowercased()
    return scheme.hasPrefix("http://") || scheme == "https://"
  }
}
