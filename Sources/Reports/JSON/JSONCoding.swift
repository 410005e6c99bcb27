protocol JSONCodable {
  init(json: JSONValue) throws(JSONError)
  func write(to json: inout JSONWriter)
}

/// An object of fixed fields, described once for both directions.
///
/// Fields are written in the order of the description. Missing fields keep the value of `init()`; unknown fields, such as those of newer
/// versions, are ignored.
protocol JSONSection: JSONCodable, JSONFieldGroup {
  init()
}

/// Fields that a type describes for both directions.
protocol JSONFieldGroup {
  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure)
}

extension JSONSection {
  init(json: JSONValue) throws(JSONError) {
    self.init()
    var json = json
    try code(&json)
  }

  func write(to json: inout JSONWriter) {
    var copy = self
    json.object { copy.code(&$0) }
  }
}

/// The fields of an object in one direction: ``JSONValue`` reads them, ``JSONWriter`` writes them and doesn't change the values.
protocol JSONFields: ~Copyable {
  associatedtype Failure: Error
  static var isReading: Bool { get }

  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value, isRequired: Bool) throws(Failure)
  /// A field that is null if its value is nil, or missing if it `isOmitted`.
  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value?, isOmitted: Bool) throws(Failure)
  mutating func list<Value: JSONCodable>(_ key: StaticString, _ values: inout [Value], _ layout: JSONWriter.Layout)
    throws(Failure)
  /// A nested object with some fields of the type.
  mutating func group<Group: JSONFieldGroup>(_ key: StaticString, _ group: inout Group) throws(Failure)
  /// A field that follows from other fields: written for readers of JSON, and not read.
  mutating func derived<Value: JSONCodable>(_ key: StaticString, _ value: @autoclosure () -> Value)
  /// Throws if a condition of the read fields doesn't hold.
  mutating func check(_ holds: @autoclosure () -> Bool, _ message: @autoclosure () -> String) throws(Failure)
}

extension JSONFields where Self: ~Copyable {
  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value) throws(Failure) {
    try field(key, &value, isRequired: false)
  }

  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value?) throws(Failure) {
    try field(key, &value, isOmitted: false)
  }

  mutating func list<Value: JSONCodable>(_ key: StaticString, _ values: inout [Value]) throws(Failure) {
    try list(key, &values, .inline)
  }

  /// A field whose value has another form in JSON.
  mutating func field<Value, Form: JSONCodable>(
    _ key: StaticString,
    _ value: inout Value,
    isRequired: Bool = false,
    as write: (Value) -> Form,
    from read: (Form) -> Value
  ) throws(Failure) {
    var form = write(value)
    try field(key, &form, isRequired: isRequired)
    if Self.isReading { value = read(form) }
  }

  /// The same for a value that may be missing in JSON.
  mutating func field<Value, Form: JSONCodable>(
    _ key: StaticString,
    _ value: inout Value,
    isOmitted: Bool = false,
    as write: (Value) -> Form?,
    from read: (Form?) -> Value
  ) throws(Failure) {
    var form = write(value)
    try field(key, &form, isOmitted: isOmitted)
    if Self.isReading { value = read(form) }
  }
}

extension JSONValue: JSONFields {
  typealias Failure = JSONError
  static var isReading: Bool { true }

  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value, isRequired: Bool) throws(JSONError) {
    if let json = try isRequired ? required(key) : self.value(key) { value = try Value(json: json) }
  }

  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value?, isOmitted: Bool) throws(JSONError) {
    if let json = try self.value(key) { value = try Value(json: json) } else { value = nil }
  }

  mutating func list<Value: JSONCodable>(
    _ key: StaticString,
    _ values: inout [Value],
    _ layout: JSONWriter.Layout
  ) throws(JSONError) {
    guard let json = try value(key) else { return }
    values = try [Value](json: json)
  }

  mutating func group<Group: JSONFieldGroup>(_ key: StaticString, _ group: inout Group) throws(JSONError) {
    guard var json = try value(key) else { return }
    try group.code(&json)
  }

  mutating func derived<Value: JSONCodable>(_ key: StaticString, _ value: @autoclosure () -> Value) {}

  mutating func check(_ holds: @autoclosure () -> Bool, _ message: @autoclosure () -> String) throws(JSONError) {
    if !holds() { throw problem(message()) }
  }
}

extension JSONWriter: JSONFields {
  typealias Failure = Never
  static var isReading: Bool { false }

  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value, isRequired: Bool) {
    write(key)
    value.write(to: &self)
  }

  mutating func field<Value: JSONCodable>(_ key: StaticString, _ value: inout Value?, isOmitted: Bool) {
    if value == nil, isOmitted { return }
    write(key)
    value.write(to: &self)
  }

  mutating func list<Value: JSONCodable>(_ key: StaticString, _ values: inout [Value], _ layout: Layout) {
    write(key)
    array(values, layout) { $1.write(to: &$0) }
  }

  mutating func group<Group: JSONFieldGroup>(_ key: StaticString, _ group: inout Group) {
    write(key)
    object { group.code(&$0) }
  }

  mutating func derived<Value: JSONCodable>(_ key: StaticString, _ value: @autoclosure () -> Value) {
    write(key)
    value().write(to: &self)
  }

  mutating func check(_ holds: @autoclosure () -> Bool, _ message: @autoclosure () -> String) {}
}
