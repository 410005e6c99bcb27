/// One of several ways of requesting a list's images, each with images of its own.
public struct RequestVariant: Sendable, Hashable {
  /// The name of its set of request headers, without `#`; nil for plain requests.
  public var name: String?
  /// The server that is used instead of the one in the URL, without `#`; nil for the URL's own.
  public var edge: String?

  public init(name: String? = nil, edge: String? = nil) {
    self.name = name
    self.edge = edge
  }

  public static let plain = RequestVariant()

  /// Both names for display, such as `webp, edge-a`; nil if there is neither.
  package var title: String? {
    let names = [name, edge].compactMap(\.self)
    return names.isEmpty ? nil : names.joined(separator: ", ")
  }
}
