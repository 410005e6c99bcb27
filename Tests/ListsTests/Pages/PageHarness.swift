import Base
import Lists

let pageURL = try! BaseURL("https://www.example.com/news/today.html")

/// Parses a page at ``pageURL``.
func page(_ text: String, contentType: String? = "text/html; charset=utf-8", _ rules: PageRules = PageRules()) -> PageDocument {
  page(bytes: Array(text.utf8), contentType: contentType, rules)
}

func page(bytes: [UInt8], contentType: String? = nil, _ rules: PageRules = PageRules()) -> PageDocument {
  bytes.withUnsafeBytes { PageDocument($0, contentType: contentType, url: pageURL, rules: rules) }
}

/// Parses a stylesheet at `/css/site.css`.
func stylesheet(_ text: String, contentType: String? = "text/css; charset=utf-8") throws -> PageDocument {
  let url = try BaseURL("https://www.example.com/css/site.css")
  return Array(text.utf8).withUnsafeBytes { PageDocument(stylesheet: $0, contentType: contentType, url: url) }
}

/// URLs without the part that they share.
private func short(_ range: Range<Int>, in text: [UInt8]) -> String {
  let url = String(decoding: text[range], as: UTF8.self)
  let start = "https://www.example.com"
  return url.hasPrefix(start) ? String(url.dropFirst(start.count)) : url
}

extension PageDocument {
  var urls: [String] { images.map { short($0.url, in: text) } }
  /// `element attribute url` of each image.
  var sources: [String] { images.map { "\($0.origin.element) \($0.origin.attribute) \(short($0.url, in: text))" } }
  var lines: [UInt64] { images.map(\.line) }
  var linkURLs: [String] { links.map { short($0.url, in: text) } }
  var stylesheetURLs: [String] { stylesheets.map { short($0.url, in: text) } }
}
