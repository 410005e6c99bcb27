/// A value that is read and written.
protocol JSONCodable {
  init(json: JSONValue) throws(JSONProblem)
  var jsonTree: JSONTree { get }
}

/// An object of fixed fields, described once for both directions.
///
/// Fields are written in the order of the description. Missing fields keep the value of `init()`; unknown fields, such as those of newer
/// versions, are ignored.
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

  /// The counts of a value.
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
  mutating func group(
    _ key: StaticString,
    _ code: (inout JSONFields) throws(JSONProblem) -> Void
  ) throws(JSONProblem) {
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

  /// Throws if a condition of the read fields doesn't hold.
  func check(_ holds: @autoclosure () -> Bool, _ message: @autoclosure () -> String) throws(JSONProblem) {
    if let source, !holds() { throw source.problem(message()) }
  }

  private mutating func append(_ key: StaticString, _ value: JSONTree) { members.append(("\(key)", value)) }
}
