/// A value that is read and written.
protocol JSONCodable {
  init(json: JSONValue) throws(JSONError)
  var jsonTree: JSONTree { get }
}

/// Fields that a type describes for both directions.
protocol JSONFieldGroup {
  /// Never throws while writing.
  mutating func code(_ json: inout JSONFields) throws(JSONError)
}

/// An object of fixed fields, described once for both directions.
///
/// Fields are written in the order of the description. Missing fields keep the value of `init()`; unknown fields, such as those of newer
/// versions, are ignored.
protocol JSONSection: JSONCodable, JSONFieldGroup {
  init()
}

extension JSONSection {
  init(json: JSONValue) throws(JSONError) {
    self.init()
    var fields = JSONFields(reading: json)
    try code(&fields)
  }
}

extension JSONFieldGroup {
  var jsonTree: JSONTree {
    var (copy, fields) = (self, JSONFields())
    do throws(JSONError) { try copy.code(&fields) } catch {
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

  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value, isRequired: Bool = false) throws(JSONError) {
    guard let source else { return append(key, value.jsonTree) }
    if let json = try isRequired ? source.required(key) : source.value(key) { value = try Value(json: json) }
  }

  /// A field that is null if its value is nil, or missing if it `isOmitted`.
  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value?, isOmitted: Bool = false) throws(JSONError) {
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
  ) throws(JSONError) {
    var form = write(value)
    try field(key, &form, isRequired: isRequired)
    if isReading { value = read(form) }
  }

  /// The same for a value that may be missing in JSON.
  mutating func field<Value, Form: JSONCodable>(
    _ key: StaticString,
    _ value: inout Value,
    isOmitted: Bool = false,
    as write: (Value) -> Form?,
    from read: (Form?) -> Value
  ) throws(JSONError) {
    var form = write(value)
    try field(key, &form, isOmitted: isOmitted)
    if isReading { value = read(form) }
  }

  /// A list with a line for each element, which may be missing if it is empty.
  mutating func rows<Value: JSONCodable>(_ key: StaticString, _ values: inout [Value], isOmitted: Bool = false) throws(JSONError)
  {
    guard isReading else {
      if !isOmitted || !values.isEmpty { append(key, .rows(values.map(\.jsonTree))) }
      return
    }
    try field(key, &values)
  }

  /// A nested object with some fields of the type.
  mutating func group<Group: JSONFieldGroup>(_ key: StaticString, _ group: inout Group) throws(JSONError) {
    guard let source else { return append(key, group.jsonTree) }
    guard let json = try source.value(key) else { return }
    var fields = JSONFields(reading: json)
    try group.code(&fields)
  }

  /// A field that follows from other fields: written for readers of JSON, and not read.
  mutating func derived(_ key: StaticString, _ value: @autoclosure () -> (any JSONCodable)?) {
    if !isReading { append(key, value()?.jsonTree ?? .null) }
  }

  /// Throws if a condition of the read fields doesn't hold.
  func check(_ holds: @autoclosure () -> Bool, _ message: @autoclosure () -> String) throws(JSONError) {
    if let source, !holds() { throw source.problem(message()) }
  }

  private mutating func append(_ key: StaticString, _ value: JSONTree) { members.append(("\(key)", value)) }
}
