/// Text from outside as GitHub-flavoured Markdown takes it.
///
/// It stands in code spans alone: there nothing is a link, a mention, a reference to an issue, an emoji or HTML, which escapes by backslash
/// would leave to what GitHub looks for after Markdown is done (GFM, sections 6.3 and 6.9).
extension OutputBuffer {
  /// Appends a code span that shows `text`; fit for a cell of a table.
  ///
  /// A pipe would end a cell even in code, so it appears as `\u{7C}`; what is empty appears as `""`.
  mutating func appendCode(_ text: String, limit: Int = MarkdownReport.textLimit) {
    var span = OutputBuffer(capacity: min(text.utf8.count + 16, limit + 64))
    span.appendVisible(text.isEmpty ? "\"\"" : text, limit: limit) { $0 == UInt8(ascii: "|") ? "\\u{7C}" : nil }
    span.withUnsafeBytes { bytes in
      // A span is delimited by a run of backticks that it does not hold itself.
      let fence = String(repeating: "`", count: longestRun(of: UInt8(ascii: "`"), in: bytes) + 1)
      // A space at both ends is dropped; it is needed beside a backtick, and where the text has spaces at its own ends.
      let edges = [UInt8(ascii: "`"), UInt8(ascii: " ")]
      let isPadded = edges.contains(bytes.first ?? 0) || edges.contains(bytes.last ?? 0)
      append(fence)
      if isPadded { append(UInt8(ascii: " ")) }
      append(bytes)
      if isPadded { append(UInt8(ascii: " ")) }
      append(fence)
    }
  }

  /// Appends a sentence of our own, in which punctuation means nothing to Markdown.
  mutating func appendMarkdown(_ sentence: String) {
    for byte in sentence.utf8 {
      if "\\`*_[]<>#|~&@".utf8.contains(byte) { append(UInt8(ascii: "\\")) }
      append(byte)
    }
  }
}

private func longestRun(of byte: UInt8, in bytes: UnsafeRawBufferPointer) -> Int {
  var longest = 0
  var current = 0
  for candidate in bytes {
    current = candidate == byte ? current + 1 : 0
    longest = max(longest, current)
  }
  return longest
}
