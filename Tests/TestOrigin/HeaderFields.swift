/// Header fields in order, including repeated names; written as a dictionary literal.
public struct HeaderFields: Sendable, ExpressibleByDictionaryLiteral {
  /// Each field's name, as written, and its value.
  public var fields: [(name: String, value: String)]

  /// Creates fields in this order.
  public init(_ fields: [(name: String, value: String)] = []) { self.fields = fields }

  /// Creates fields in this order; names may repeat.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { (name: $0.0, value: $0.1) }
  }

  /// The value of the first field with that name, case ignored; nil if there is none.
  public subscript(name: String) -> String? { all(name).first }

  /// The values of all fields with that name, case ignored.
  public func all(_ name: String) -> [String] {
    fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }
}
