/// One of several ways of requesting a list's images, each with images of its own.
package struct RequestVariant: Sendable, Hashable {
  /// The name of its set of request headers, without `#`; nil for plain requests.
  package var name: String?
  /// The server that is used instead of the one in the URL, without `#`; nil for the URL's own.
  package var edge: String?

  package init(name: String? = nil, edge: String? = nil) {
    self.name = name
    self.edge = edge
  }

  package static let plain = RequestVariant()

  /// Both names for display, such as `webp, edge-a`; nil if there is neither.
  package var title: String? {
    let names = [name, edge].compactMap(\.self)
    return names.isEmpty ? nil : names.joined(separator: ", ")
  }
}
