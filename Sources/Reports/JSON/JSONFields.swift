import Base

protocol JSONCodable {
  init(json: JSONValue) throws(JSONProblem)
  var jsonTree: JSONTree { get }
}

/// An object of fixed fields, described once for both directions. Fields are written in the order of the description. Missing
/// fields keep the value of `init()`; unknown fields, such as those of newer versions, are ignored.
protocol JSONSection: JSONCodable {
  init()
  /// Never throws while writing.
  mutating func code(_ json: inout JSONFields) throws(JSONProblem)
}

extension JSONSection {
  init(json: JSONValue) throws(JSONProblem) {
    self.init()
    var fields = JSONFields(reading: json)
    try code(&fields)
  }

  var jsonTree: JSONTree {
    var (copy, fields) = (self, JSONFields())
    do throws(JSONProblem) { try copy.code(&fields) } catch {
      preconditionFailure("a description failed to write: \(error.message)")
    }
    return .object(fields.members)
  }
}

/// The fields of an object in one direction: those that are read from a value, or those that are written so far.
struct JSONFields {
  private let source: JSONValue?
  private(set) var members: [JSONTree.Member] = []

  init(reading source: JSONValue? = nil) { self.source = source }
  var isReading: Bool { source != nil }

  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value, isRequired: Bool = false) throws(JSONProblem)
  {
    guard let source else { return append(key, value.jsonTree) }
    if let json = try isRequired ? source.required(key) : source.value(key) { value = try Value(json: json) }
  }

  /// Plain fields of a value, by their names; an optional one is null if it is nil.
  mutating func fields<Owner, each Value: JSONCodable>(
    _ owner: inout Owner,
    _ fields: repeat (StaticString, WritableKeyPath<Owner, each Value>)
  ) throws(JSONProblem) {
    repeat try field((each fields).0, &owner[keyPath: (each fields).1])
  }

  /// A field that is null if its value is nil, or missing if it `isOmitted`.
  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value?, isOmitted: Bool = false) throws(JSONProblem)
  {
    guard let source else {
      if value != nil || !isOmitted { append(key, value?.jsonTree ?? .null) }
      return
    }
    if let json = try source.value(key) { value = try Value(json: json) } else { value = nil }
  }

  /// A field whose value has another form in JSON.
  mutating func field<Value, Form: JSONCodable>(
    _ key: StaticString,
    _ value: inout Value,
    isRequired: Bool = false,
    as write: (Value) -> Form,
    from read: (Form) -> Value
  ) throws(JSONProblem) {
    var form = write(value)
    try field(key, &form, isRequired: isRequired)
    if isReading { value = read(form) }
  }

  /// A field that is null if its value is the usual one, or missing if it `isOmitted`.
  mutating func field<Value: JSONCodable & Equatable>(
    _ key: StaticString,
    _ value: inout Value,
    unless usual: Value,
    isOmitted: Bool = false
  ) throws(JSONProblem) {
    var known = value == usual ? nil : value
    try field(key, &known, isOmitted: isOmitted)
    value = known ?? usual
  }

  mutating func counts<Value: Countable>(_ value: inout Value) throws(JSONProblem) {
    for (key, path) in Value.counts { try field(key, &value[keyPath: path]) }
  }

  /// A list with a line for each element, which may be missing if it is empty.
  mutating func rows<Value: JSONCodable>(_ key: StaticString, _ values: inout [Value], isOmitted: Bool = false)
    throws(JSONProblem)
  {
    guard isReading else {
      if !isOmitted || !values.isEmpty { append(key, .rows(values.map(\.jsonTree))) }
      return
    }
    try field(key, &values)
  }

  /// A nested object, whose fields stay as they are if it is missing.
  mutating func group(_ key: StaticString, _ code: (inout JSONFields) throws(JSONProblem) -> Void) throws(JSONProblem) {
    var fields = JSONFields()
    if let source {
      guard let json = try source.value(key) else { return }
      fields = JSONFields(reading: json)
    }
    try code(&fields)
    if !isReading { append(key, .object(fields.members)) }
  }

  /// A field that follows from other fields: written for readers of JSON, and not read.
  mutating func derived(_ key: StaticString, _ value: @autoclosure () -> (any JSONCodable)?) {
    if !isReading { append(key, value()?.jsonTree ?? .null) }
  }

  func check(_ holds: @autoclosure () -> Bool, _ message: @autoclosure () -> String) throws(JSONProblem) {
    if let source, !holds() { throw source.problem(message()) }
  }

  private mutating func append(_ key: StaticString, _ value: JSONTree) { members.append(("\(key)", value)) }
}

/// A value with a name in JSON: a string or the key of a ``JSONMap``.
protocol JSONNamed: JSONCodable {
  var name: String { get }
  init?(name: String)
  static var refusal: String { get }
  func isBefore(_ other: Self) -> Bool
}

extension JSONNamed {
  static var refusal: String { "is unknown" }

  init(json: JSONValue) throws(JSONProblem) {
    let name = try json.string()
    guard let value = Self(name: name) else { throw json.problem("is '\(name.quotable)', which this version doesn't know") }
    self = value
  }

  var jsonTree: JSONTree { .string(name) }
  func isBefore(_ other: Self) -> Bool { name < other.name }
}

extension JSONNamed where Self: RawRepresentable, RawValue == String {
  var name: String { rawValue }
  init?(name: String) { self.init(rawValue: name) }
}

extension String: JSONNamed {
  var name: String { self }
  init?(name: String) { self = name }
}

extension FailureKind: JSONNamed {
  static var refusal: String { "isn't a failure kind that this version knows" }
}

extension LintRule: JSONNamed {
  static var refusal: String { "isn't a lint rule that this version knows" }
  func isBefore(_ other: LintRule) -> Bool { rawValue < other.rawValue }
}

extension LintSeverity: JSONNamed {}

extension ImageFormat: JSONNamed {
  static var refusal: String { "isn't a format that this version knows" }
}

extension FailOn.Percentile: JSONNamed {
  static var refusal: String { "isn't a percentile: use p50, p90, p99 or max" }
  func isBefore(_ other: FailOn.Percentile) -> Bool { fraction < other.fraction }
}

extension LoadPriority: JSONNamed {}
extension RemoteCacheStatus: JSONNamed {}
extension FailureStanding: JSONNamed {}
extension Interruption: JSONNamed {}

extension LoadOutcome: JSONNamed {
  private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

  init?(name: String) {
    guard let outcome = Self.byName[name] else { return nil }
    self = outcome
  }
}

/// The outcomes that occur in a list of failures.
struct BadOutcome: JSONNamed {
  var outcome: LoadOutcome
  var name: String { outcome.name }
  init(_ outcome: LoadOutcome) { self.outcome = outcome }
  init?(name: String) {
    guard let outcome = LoadOutcome(name: name), outcome == .failed || outcome == .blacklisted else { return nil }
    self.outcome = outcome
  }
}

/// An object whose keys are known at run time only, in order.
struct JSONMap<Key: JSONNamed, Value: JSONCodable>: JSONCodable {
  var members: [(key: Key, value: Value)]

  init(_ members: [(Key, Value)]) { self.members = members.map { ($0, $1) } }

  init(json: JSONValue) throws(JSONProblem) {
    members = []
    for (name, value) in try json.members() {
      guard let key = Key(name: name) else { throw value.problem(Key.refusal) }
      members.append((key, try Value(json: value)))
    }
  }

  var jsonTree: JSONTree { .object(members.map { ($0.key.name, $0.value.jsonTree) }) }
}

extension Dictionary: JSONCodable where Key: JSONNamed, Value: JSONCodable {
  init(json: JSONValue) throws(JSONProblem) {
    self.init(uniqueKeysWithValues: try JSONMap<Key, Value>(json: json).members.map { ($0.key, $0.value) })
  }

  var jsonTree: JSONTree { JSONMap(sorted { $0.key.isBefore($1.key) }.map { ($0.key, $0.value) }).jsonTree }
}

// MARK: Values without a name

extension UInt64: JSONCodable {
  init(json: JSONValue) throws(JSONProblem) { self = try json.count() }
}

extension UInt32: JSONCodable {
  init(json: JSONValue) throws(JSONProblem) { self.init(clamping: try json.count()) }
}

extension Bool: JSONCodable {
  init(json: JSONValue) throws(JSONProblem) { self = try json.boolean() }
}

extension String: JSONCodable {
  init(json: JSONValue) throws(JSONProblem) { self = try json.string() }
}

extension Optional: JSONCodable where Wrapped: JSONCodable {
  init(json: JSONValue) throws(JSONProblem) { self = try Wrapped(json: json) }
  var jsonTree: JSONTree { self?.jsonTree ?? .null }
}

extension Array: JSONCodable where Element: JSONCodable {
  init(json: JSONValue) throws(JSONProblem) {
    self = []
    for value in try json.elements() { append(try Element(json: value)) }
  }

  var jsonTree: JSONTree { .array(map(\.jsonTree)) }
}

/// A number with up to `decimals` decimals.
struct JSONNumber: JSONCodable {
  var value: Double
  var decimals = 0

  init(_ value: Double, decimals: Int) { (self.value, self.decimals) = (value, decimals) }
  init(json: JSONValue) throws(JSONProblem) { value = try json.number() }

  var jsonTree: JSONTree {
    var digits = OutputBuffer(capacity: 64)
    digits.append(value, decimals: decimals)
    return .number(digits.text)
  }
}

/// In seconds to the nanosecond, so that a reader computes the same rates.
extension Duration: JSONCodable {
  // No run takes longer than a century.
  init(json: JSONValue) throws(JSONProblem) { self = .nanoseconds(Int64((min(try json.number(), 4e9) * 1e9).rounded())) }
  var jsonTree: JSONTree { JSONNumber(inSeconds, decimals: 9).jsonTree }
}

extension Timestamp: JSONCodable {
  init(json: JSONValue) throws(JSONProblem) {
    guard let timestamp = Timestamp(iso8601: try json.bytes()) else {
      throw json.problem("isn't a time such as 2026-11-21T09:00:00.000Z")
    }
    self = timestamp
  }

  var jsonTree: JSONTree { .string(iso8601) }
}

extension Checksum: JSONCodable {
  init(json: JSONValue) throws(JSONProblem) {
    let digits = try json.bytes()
    guard digits.count == 32, let high = UInt64(hexadecimal: digits[..<16]), let low = UInt64(hexadecimal: digits[16...]) else {
      throw json.problem("isn't a hash of 32 hexadecimal digits")
    }
    self.init(high: high, low: low)
  }

  var jsonTree: JSONTree { .string(hexadecimal) }
}

/// A number of 16 hexadecimal digits.
struct Fingerprint: JSONCodable {
  var number: UInt64
  init(_ number: UInt64) { self.number = number }

  init(json: JSONValue) throws(JSONProblem) {
    guard let number = UInt64(hexadecimal: try json.bytes()[...]) else {
      throw json.problem("isn't a number of 16 hexadecimal digits")
    }
    self.number = number
  }

  var jsonTree: JSONTree { .string(hexadecimal(number)) }
}

struct StatusCode: JSONCodable {
  var code: Int
  init(_ code: Int) { self.code = code }

  init(json: JSONValue) throws(JSONProblem) {
    // Three digits (RFC 9110, section 15): each further number would become a group of its own.
    let status = try json.count()
    guard (100...999).contains(status) else { throw json.problem("isn't an HTTP status") }
    code = Int(status)
  }

  var jsonTree: JSONTree { .number("\(max(0, code))") }
}

extension UInt64 {
  /// Parses 16 hexadecimal digits in lower case; nil for anything else.
  init?(hexadecimal digits: Slice<UnsafeRawBufferPointer>) {
    guard digits.count == 16, digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }) else { return nil }
    self.init(String(decoding: digits, as: UTF8.self), radix: 16)
  }
}
