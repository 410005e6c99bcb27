/// A request as the origin read it.
public struct RecordedRequest: Sendable {
  /// Its number among all requests of the origin, in order of arrival, starting at 1.
  public let sequence: Int
  public let method: String
  /// The path and the query, as the client sent them.
  public let target: String
  /// The header fields in the order of receipt.
  public let headers: HeaderFields
  /// The body; empty for nearly all requests.
  public let body: [UInt8]
  /// The number of its connection, starting at 1 in the order of opening.
  public let connection: Int
  /// The port of its host, which distinguishes an origin's hosts.
  public let port: Int
  /// When its last byte was read.
  public let arrival: ContinuousClock.Instant

  public var path: String { String(target.prefix { $0 != "?" }) }
}

/// Header fields in order, including repeated names; written as a dictionary literal.
public struct HeaderFields: Sendable, ExpressibleByDictionaryLiteral {
  /// Each field's name, as written, and its value.
  public var fields: [(name: String, value: String)]

  public init(_ fields: [(name: String, value: String)] = []) { self.fields = fields }

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
