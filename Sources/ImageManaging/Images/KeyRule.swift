import ImagePrimitives
import ImageURLs

/// What of a URL tells images apart.
public enum KeyRule: Sendable, Hashable {
  /// All of it.
  case url
  /// All but the query: for hosts whose parameters do not change the image.
  case urlWithoutQuery
  /// All but the parameters of those names, in whatever place: trackers such as `utm_source`.
  case droppingQuery(Set<String>)

  /// The URL with only what counts; nil where that is all of it.
  func apply(to url: UnsafeRawBufferPointer, parts: URLParts) -> [UInt8]? {
    guard !parts.query.isEmpty else { return nil }
    switch self {
    case .url: return nil
    case .urlWithoutQuery: return Array(url[..<parts.path.upperBound])
    case .droppingQuery(let names):
      let parameters = url[parts.query].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
      let kept = parameters.filter { parameter in
        let name = parameter.prefix { $0 != UInt8(ascii: "=") }
        return !names.contains(String(decoding: name, as: UTF8.self))
      }
      if kept.count == parameters.count { return nil }
      let query = kept.joined(separator: CollectionOfOne(UInt8(ascii: "&")))
      return url[..<parts.path.upperBound] + (kept.isEmpty ? [] : [UInt8(ascii: "?")] + query)
    }
  }
}
