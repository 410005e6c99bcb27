/// A way in which entries are asked for, where there are several: what its rows are told apart by.
public struct ReportedVariant: Sendable, Hashable {
  /// The name of its set of request headers; nil where there is but one.
  public var name: String?
  /// The name of the server that is asked; nil where that is the URL's own.
  public var edge: String?

  /// A variant of those names.
  public init(name: String?, edge: String?) {
    self.name = name
    self.edge = edge
  }

  /// The plain one.
  static let plain = ReportedVariant(name: nil, edge: nil)

  /// Both names for a person, such as `webp, edge-a`; nil where there is neither.
  package var title: String? {
    let names = [name, edge].compactMap(\.self)
    return names.isEmpty ? nil : names.joined(separator: ", ")
  }
}
