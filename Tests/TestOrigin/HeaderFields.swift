/// Header fields in their order, repeated names included; written as a dictionary literal.
public struct HeaderFields: Sendable, ExpressibleByDictionaryLiteral {
  /// Each field's name, as it was written, and its value.
  public var fields: [(name: String, value: String)]

  /// These fields, in this order.
  public init(_ fields: [(name: String, value: String)] = []) { self.fields = fields }

  /// These fields, in this order; a name may come more than once.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { (name: $0.0, value: $0.1) }
  }

  /// The value of the first field of that name, in whatever case; nil where there is none.
  public subscript(name: String) -> String? { all(name).first }

  /// The values of all fields of that name, in whatever case.
  public func all(_ name: String) -> [String] {
    fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }
}
