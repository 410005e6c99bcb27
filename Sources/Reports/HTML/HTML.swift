import Base

typealias HTML = Markup<HTMLForm>

/// Text of a page, in which limits are scalars. The five characters with a meaning in text or in a quoted attribute become
/// character references (HTML Standard, 13.1.4), so that one form serves both, and SVG as well. Invisible characters and those
/// that change the order of text appear escaped, as in a terminal.
enum HTMLForm: MarkupForm {
  static var limit: Int { .max }

  static func append(_ text: UnsafeRawBufferPointer, limit: Int, to output: inout OutputBuffer) {
    guard text.count > limit else { return append(text, to: &output) }
    var shortened = String(decoding: text, as: UTF8.self).shortened(to: limit)
    shortened.withUTF8 { append(UnsafeRawBufferPointer($0), to: &output) }
  }

  private static func append(_ text: UnsafeRawBufferPointer, to output: inout OutputBuffer) {
    output.appendVisible(text) { $0 == UInt8(ascii: "'") ? "&#39;" : markupEscape($0) }
  }
}

extension Markup<HTMLForm>.StringInterpolation {
  /// A length or a position in a picture, in tenths.
  mutating func appendInterpolation(_ coordinate: Double) {
    let tenths = Int((min(max(coordinate, -1e6), 1e6) * 10).rounded())
    appendLiteral("\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)")
  }
}

extension HTML {
  /// The rows of a list while both limits hold, and how many there are.
  ///
  /// - Parameter bytes: limits all rows together; the row that exceeds it is the last.
  static func rows<Row>(_ rows: some Collection<Row>, limit: Int, bytes: Int, _ row: (Row) -> HTML) -> (html: HTML, count: Int) {
    var (markup, count) = ("", 0)
    for next in rows {
      if count == limit || markup.utf8.count >= bytes { break }
      markup += row(next).markup
      count += 1
    }
    return (HTML(verbatim: markup), count)
  }

  /// A line about the omitted items of a list; nil if there are none.
  static func omission(_ count: UInt64, _ noun: String, plural: String? = nil, _ rest: String = "") -> HTML? {
    count > 0 ? #"<p class="more">\#("… \(counted(count, noun, plural: plural))\(rest)")</p>"# : nil
  }
}

/// Texts from outside that a page shows in one way everywhere.
extension HTML {
  /// The limit of a URL on a page, in scalars.
  static let urlLimit = 300
  /// The server must not learn the page's address, which the page's policy ensures, and its page must not control this one.
  private static let link: HTML = #"target="_blank" rel="noopener""#

  /// A URL: a link if following it requests exactly the URL that is shown.
  ///
  /// - Parameter name: shown instead of the URL, which becomes the tooltip.
  static func url(_ url: String, as name: String? = nil) -> HTML {
    let title = name == nil ? nil : url.shortened(to: urlLimit)
    let text = (name ?? url).shortened(to: urlLimit)
    guard url.isSafeLink else { return #"<span class="url"\#(attribute: "title", title)>\#(text)</span>"# }
    return #"<a class="url" href="\#(url)"\#(attribute: "title", title) \#(link)>\#(text)</a>"#
  }

  /// The list and line of an entry; a page that uses an image is a link.
  static func place(_ manifest: String, line: UInt64) -> HTML {
    let (name, line) = (manifest.shortened(to: 160), line > 0 ? ":\(line)" : "")
    guard manifest.isSafeLink else { return #"<span class="place">\#(name + line)</span>"# }
    let suffix: HTML? = line.isEmpty ? nil : #"<span class="place">\#(line)</span>"#
    return #"<a class="place" href="\#(manifest)" \#(link)>\#(name)</a>\#(suffix)"#
  }

  static func message(_ text: String, in element: HTML = "p") -> HTML {
    #"<\#(element) class="message">\#(text, limit: 400)</\#(element)>"#
  }

  /// A picture as a data URL (RFC 2397), or words in its place.
  static func picture(_ thumbnail: Thumbnail?, description: String) -> HTML {
    #"<div class="picture">\#(image(thumbnail, description: description) ?? "<span>no picture</span>")</div>"#
  }

  /// Nil if there is no picture.
  static func image(_ thumbnail: Thumbnail?, description: String) -> HTML? {
    guard let thumbnail, thumbnail.hasPicture else { return nil }
    return """
      <img src="data:\(thumbnail.pictureFormat.mediaType);base64,\(String(decoding: thumbnail.picture.base64, as: UTF8.self))" \
      width="\(UInt64(thumbnail.pictureWidth))" height="\(UInt64(thumbnail.pictureHeight))" \
      loading="lazy" decoding="async" alt="\(description, limit: 120)">
      """
  }
}

extension Thumbnail {
  /// Whether it has a picture that is small enough for a page.
  var hasPicture: Bool { !picture.isEmpty && picture.count <= 16_384 }
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
