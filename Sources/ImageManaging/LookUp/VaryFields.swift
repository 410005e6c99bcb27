import ImageDownloading
import ImagePrimitives

/// The headers that a context's requests are sent with.
struct SentHeaders {
  let options: DownloadOptions
  /// The downloader's own, which all of its requests have.
  let defaults: [HeaderField]

  func value(of name: String) -> String? { options.requestValue(ofHeader: name, defaults: defaults) }
}

/// The request headers that a response depends on, as a record keeps them (RFC 9111, section 4.1): a line `name: value` each, in the order
/// of their names; a header that was not sent has a line without the colon; `*` alone where no request can be told to be the same.
enum VaryFields {
  /// What is kept of `vary`, the response's Vary header, for such requests; empty where it names nothing.
  static func text(_ vary: String?, _ request: SentHeaders) -> [UInt8] {
    guard let vary else { return [] }
    let names = Set(vary.split(separator: ",").map { trimmed($0).lowercased() }.filter { !$0.isEmpty })
    if names.contains("*") { return Array("*".utf8) }
    // The body is always asked for as it is, whatever the server could have sent.
    return Array(names.sorted().map { line($0, request) }.joined(separator: "\n").utf8)
  }

  /// Whether a request would have got the response that `text` was kept of.
  static func matches(_ text: [UInt8], _ request: SentHeaders) -> Bool {
    let text = String(decoding: text, as: UTF8.self)
    if text == "*" { return false }
    return text.split(separator: "\n").allSatisfy { kept in
      let name = kept.prefix { $0 != ":" }
      return line(String(name), request) == kept
    }
  }

  private static func line(_ name: String, _ request: SentHeaders) -> String {
    request.value(of: name).map { "\(name): \($0)" } ?? name
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
