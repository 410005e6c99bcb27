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

  /// An element with text in it.
  mutating func element(_ name: StaticString, _ attributes: Attributes, _ text: String) {
    element(name, attributes) { $0.text(text) }
  }

  /// An element with text in it and nothing else.
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

  /// Text from anywhere.
  mutating func text(_ text: String) { output.appendHTML(text) }

  /// Text from outside, or as much of it as `limit` scalars are.
  mutating func text(_ text: String, limit: Int) { output.appendHTML(text.shortened(to: limit)) }

  /// Markup that is known when compiling.
  mutating func markup(_ markup: StaticString) { output.appendLiteral(markup) }

  /// Markup that stands in the source of this module and holds nothing from outside.
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
  /// A section with a heading.
  mutating func section(_ id: StaticString, _ title: String, _ content: (inout HTMLPage) -> Void) {
    element("section", ["id": "\(id)"]) { page in
      page.element("h2", title)
      content(&page)
    }
  }

  /// Writes rows while both limits hold, and tells how many it wrote.
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

  /// A line on what a list left out; nothing where it left out nothing.
  mutating func omission(_ count: UInt64, _ noun: String, plural: String? = nil, _ rest: String = "") {
    guard count > 0 else { return }
    element("p", ["class": "more"], "… \(counted(count, noun, plural: plural))\(rest)")
  }
}
