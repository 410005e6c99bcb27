import Base

/// Markup of a form: literals are written as they are, and every interpolated text is escaped, so that text from outside never becomes
/// markup.
struct Markup<Form: MarkupForm>: ExpressibleByStringInterpolation {
  private(set) var markup: String

  init(stringLiteral markup: String) { self.markup = markup }
  init(stringInterpolation: StringInterpolation) { markup = stringInterpolation.markup }

  /// Text that is markup already.
  init(verbatim markup: String) { self.markup = markup }

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var markup = ""

    init(literalCapacity: Int, interpolationCount: Int) { markup.reserveCapacity(literalCapacity + 16 * interpolationCount) }

    mutating func appendLiteral(_ literal: String) { markup += literal }

    mutating func appendInterpolation(_ part: Markup?) { markup += part?.markup ?? "" }

    mutating func appendInterpolation(_ parts: some Sequence<Markup>) { for part in parts { markup += part.markup } }

    mutating func appendInterpolation(_ text: String, limit: Int = Form.limit) {
      var text = text
      text.withUTF8 { appendInterpolation(UnsafeRawBufferPointer($0), limit: limit) }
    }

    mutating func appendInterpolation(_ bytes: UnsafeRawBufferPointer, limit: Int = Form.limit) {
      var escaped = OutputBuffer(capacity: min(bytes.count, limit) + 16)
      Form.append(bytes, limit: limit, to: &escaped)
      markup += escaped.text
    }

    mutating func appendInterpolation(_ count: UInt64) { markup += String(count) }

    /// An attribute with the space before it; nothing if the value is nil.
    mutating func appendInterpolation(attribute name: StaticString, _ value: String?) {
      guard let value else { return }
      markup += " \(name)=\""
      appendInterpolation(value)
      markup += "\""
    }

    mutating func appendInterpolation(class style: String?) { appendInterpolation(attribute: "class", style) }
  }
}

/// The escapes of a kind of markup.
protocol MarkupForm {
  /// The limit of texts that have none of their own.
  static var limit: Int { get }

  /// Appends text from outside, cut to `limit`.
  static func append(_ text: UnsafeRawBufferPointer, limit: Int, to output: inout OutputBuffer)
}

/// The escapes that HTML and XML have in common.
@inline(__always)
func markupEscape(_ byte: UInt8) -> StaticString? {
  switch byte {
  case UInt8(ascii: "&"): "&amp;"
  case UInt8(ascii: "<"): "&lt;"
  // An element's text in XML must not contain `]]>`.
  case UInt8(ascii: ">"): "&gt;"
  case UInt8(ascii: "\""): "&quot;"
  default: nil
  }
}

typealias XML = Markup<XMLForm>

/// The content of an element, or of an attribute in double quotes (XML 1.0, sections 2.2, 2.4 and 3.3.3), in which limits are
/// bytes. Characters that XML can't represent, such as controls and U+FFFE, appear as in ``escapedForTerminal(_:)``, and so do
/// line ends, which an attribute would lose.
enum XMLForm: MarkupForm {
  /// Much longer texts would take the place of other cases.
  static var limit: Int { 2000 }

  static func append(_ text: UnsafeRawBufferPointer, limit: Int, to output: inout OutputBuffer) {
    output.appendVisible(text, limit: limit, replacing: markupEscape)
  }
}

extension Markup<XMLForm>.StringInterpolation {
  /// To the microsecond.
  mutating func appendInterpolation(seconds: Double) {
    var output = OutputBuffer(capacity: 64)
    output.append(seconds, decimals: 6)
    appendLiteral(output.text)
  }
}
