import Base

extension UInt64: JSONCodable {
  init(json: JSONValue) throws(JSONError) { self = try json.count() }
  func write(to json: inout JSONWriter) { json.value(self) }
}

extension UInt32: JSONCodable {
  init(json: JSONValue) throws(JSONError) { self.init(clamping: try json.count()) }
  func write(to json: inout JSONWriter) { json.value(UInt64(self)) }
}

extension Bool: JSONCodable {
  init(json: JSONValue) throws(JSONError) { self = try json.boolean() }
  func write(to json: inout JSONWriter) { json.value(literal: self ? "true" : "false") }
}

extension String: JSONCodable {
  init(json: JSONValue) throws(JSONError) { self = try json.string() }
  func write(to json: inout JSONWriter) { json.value(self) }
}

extension Optional: JSONCodable where Wrapped: JSONCodable {
  init(json: JSONValue) throws(JSONError) { self = json.isNull ? nil : try Wrapped(json: json) }
  func write(to json: inout JSONWriter) { if let self { self.write(to: &json) } else { json.value(literal: "null") } }
}

extension Array: JSONCodable where Element: JSONCodable {
  init(json: JSONValue) throws(JSONError) {
    self = []
    for value in try json.elements() { append(try Element(json: value)) }
  }

  func write(to json: inout JSONWriter) { json.array(self) { $1.write(to: &$0) } }
}

/// A number with up to `decimals` decimals.
struct JSONNumber: JSONCodable {
  var value: Double
  var decimals = 0

  init(_ value: Double, decimals: Int) { (self.value, self.decimals) = (value, decimals) }
  init(json: JSONValue) throws(JSONError) { value = try json.number() }
  func write(to json: inout JSONWriter) { json.value(value, decimals: decimals) }

  /// Seconds to the nanosecond, so that a reader computes the same rates.
  init(seconds: Duration) { self.init(seconds.inSeconds, decimals: 9) }

  /// No run takes longer than a century.
  var seconds: Duration { .nanoseconds(Int64((min(value, 4e9) * 1e9).rounded())) }
}

/// A value with a name in JSON: a string or the key of a ``JSONMap``.
protocol JSONNamed: JSONCodable {
  var jsonName: String { get }
  init?(jsonName: String)
  /// The error for any other key.
  static var refusal: String { get }
}

extension JSONNamed {
  static var refusal: String { "is unknown" }

  init(json: JSONValue) throws(JSONError) {
    let name = try json.string()
    guard let value = Self(jsonName: name) else {
      throw json.problem("is '\(name.quotable)', which this version doesn't know")
    }
    self = value
  }

  func write(to json: inout JSONWriter) { json.value(jsonName) }
}

extension JSONNamed where Self: RawRepresentable, RawValue == String {
  var jsonName: String { rawValue }
  init?(jsonName: String) { self.init(rawValue: jsonName) }
}

extension String: JSONNamed {
  var jsonName: String { self }
  init?(jsonName: String) { self = jsonName }
}

extension FailureKind: JSONNamed {
  static var refusal: String { "isn't a failure kind that this version knows" }
  var jsonName: String { name }
  init?(jsonName: String) { self.init(name: jsonName) }
}

extension LintRule: JSONNamed {
  static var refusal: String { "isn't a lint rule that this version knows" }
  var jsonName: String { name }
  init?(jsonName: String) { self.init(name: jsonName) }
}

extension LintSeverity: JSONNamed {}

extension ImageFormat: JSONNamed {
  static var refusal: String { "isn't a format that this version knows" }
  var jsonName: String { name }
  init?(jsonName: String) { self.init(name: jsonName) }
}

extension FailOn.Percentile: JSONNamed {
  static var refusal: String { "isn't a percentile: use p50, p90, p99 or max" }
}

extension LoadPriority: JSONNamed {
  var jsonName: String { name }
  init?(jsonName: String) { self.init(name: jsonName) }
}

extension RemoteCacheStatus: JSONNamed {}
extension FailureStanding: JSONNamed {}
extension Interruption: JSONNamed {}

/// The outcomes that occur in a list of failures.
struct BadOutcome: JSONNamed {
  var outcome: LoadOutcome
  var jsonName: String { outcome.name }
  init(_ outcome: LoadOutcome) { self.outcome = outcome }
  init?(jsonName: String) {
    guard let match = [LoadOutcome.failed, .blacklisted].first(where: { $0.name == jsonName }) else { return nil }
    outcome = match
  }
}

/// An object whose keys are known at run time only, in order.
struct JSONMap<Key: JSONNamed, Value: JSONCodable>: JSONCodable {
  var members: [(key: Key, value: Value)]

  init(_ members: [(Key, Value)]) { self.members = members.map { ($0, $1) } }

  init(json: JSONValue) throws(JSONError) {
    members = []
    for (name, value) in try json.members() {
      guard let key = Key(jsonName: name) else { throw value.problem(Key.refusal) }
      members.append((key, try Value(json: value)))
    }
  }

  func write(to json: inout JSONWriter) {
    json.object { json in
      for (key, value) in members {
        json.write(key: key.jsonName)
        value.write(to: &json)
      }
    }
  }
}

extension Timestamp: JSONCodable {
  init(json: JSONValue) throws(JSONError) {
    guard let timestamp = Timestamp(iso8601: try json.bytes()) else {
      throw json.problem("isn't a time such as 2026-11-21T09:00:00.000Z")
    }
    self = timestamp
  }

  func write(to json: inout JSONWriter) { json.value(iso8601) }
}

/// A time to the second.
struct WholeSecond: JSONCodable {
  var timestamp: Timestamp
  init(_ timestamp: Timestamp) { self.timestamp = timestamp }
  init(json: JSONValue) throws(JSONError) { timestamp = try Timestamp(json: json) }
  func write(to json: inout JSONWriter) { json.value(timestamp.iso8601Seconds) }
}

extension Checksum: JSONCodable {
  init(json: JSONValue) throws(JSONError) {
    guard let checksum = Checksum(hexadecimal: try json.bytes()) else {
      throw json.problem("isn't a hash of 32 hexadecimal digits")
    }
    self = checksum
  }

  func write(to json: inout JSONWriter) { json.value(hexadecimal) }
}

/// A number of 16 hexadecimal digits.
struct Fingerprint: JSONCodable {
  var number: UInt64
  init(_ number: UInt64) { self.number = number }

  init(json: JSONValue) throws(JSONError) {
    guard let number = UInt64(hexadecimal: try json.bytes()[...]) else {
      throw json.problem("isn't a number of 16 hexadecimal digits")
    }
    self.number = number
  }

  func write(to json: inout JSONWriter) { json.value(hexadecimal(number)) }
}

/// The HTTP status of a failure.
struct HTTPStatus: JSONCodable {
  var code: Int
  init(_ code: Int) { self.code = code }

  init(json: JSONValue) throws(JSONError) {
    // Three digits (RFC 9110, section 15): each further number would become a group of its own.
    let status = try json.count()
    guard (100...999).contains(status) else { throw json.problem("isn't an HTTP status") }
    code = Int(status)
  }

  func write(to json: inout JSONWriter) { json.value(UInt64(clamping: code)) }
}
