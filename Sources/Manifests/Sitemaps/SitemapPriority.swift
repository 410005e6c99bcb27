/// The class that a sitemap's `<priority>` stands for.
enum SitemapPriority {
  /// The name of the class of a number from 0.0 to 1.0; nil where there is none, so that the manifest's own counts.
  static func name(of text: [UInt8]) -> StaticString? {
    guard let value = Double(String(decoding: text, as: UTF8.self).trimming()), value.isFinite else { return nil }
    return switch value {
    case 0.9...: "very-high"
    case 0.7...: "high"
    case 0.4...: "normal"
    case 0.2...: "low"
    default: "very-low"
    }
  }
}

extension String {
  /// Without the white space around it.
  fileprivate func trimming() -> Substring {
    let start = firstIndex { !$0.isWhitespace } ?? endIndex
    let end = lastIndex { !$0.isWhitespace }.map(index(after:)) ?? start
    return self[start..<end]
  }
}
