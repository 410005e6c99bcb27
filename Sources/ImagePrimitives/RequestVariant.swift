/// One of several ways in which a list's images are requested, each of which brings images of its own.
public struct RequestVariant: Sendable, Hashable {
  /// The name of its set of request headers; nil for the plain ones. It holds no `#`.
  public var name: String?
  /// The name of the server that is asked under the URL's host name; nil for the URL's own. It holds no `#`.
  public var edge: String?

  /// A variant of those names.
  public init(name: String? = nil, edge: String? = nil) {
    self.name = name
    self.edge = edge
  }

  /// The only variant of most lists.
  public static let plain = RequestVariant()

  /// Both names for a person, such as `webp, edge-a`; nil if there is neither.
  package var title: String? {
    let names = [name, edge].compactMap(\.self)
    return names.isEmpty ? nil : names.joined(separator: ", ")
  }
}
