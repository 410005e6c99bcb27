import CJansson
import ImagePrimitives

/// A value of a JSON text, borrowed from its document, and where it stands, for sentences.
///
/// Every question that the value cannot answer is a ``JSONError``, since what is read may come from anywhere.
struct JSONValue {
  /// Counts beyond it are no report's, and would overflow where reports are joined: some 10^15.
  static let maximumCount: UInt64 = 1 << 50

  /// Where a value stands. Most are a row's own, whose names cost nothing this way.
  enum Place {
    case whole
    case key(StaticString)
    /// Such as `hosts[3].latency_ms`.
    case path(String)
  }

  let pointer: UnsafeMutablePointer<json_t>
  private let place: Place

  init(_ pointer: UnsafeMutablePointer<json_t>, at place: Place) {
    self.pointer = pointer
    self.place = place
  }

  /// Whether it is an object.
  var isObject: Bool { pointer.pointee.type == JSON_OBJECT }

  /// Whether it is null, which only ``members()`` hands out.
  var isNull: Bool { pointer.pointee.type == JSON_NULL }

  /// The bytes of a string, valid as long as the document.
  func bytes() throws(JSONError) -> UnsafeRawBufferPointer {
    guard pointer.pointee.type == JSON_STRING, let start = json_string_value(pointer) else { throw problem("is no string") }
    return UnsafeRawBufferPointer(start: start, count: json_string_length(pointer))
  }

  func string() throws(JSONError) -> String { String(decoding: try bytes(), as: UTF8.self) }

  func boolean() throws(JSONError) -> Bool {
    switch pointer.pointee.type {
    case JSON_TRUE: return true
    case JSON_FALSE: return false
    default: throw problem("is neither true nor false")
    }
  }

  /// A whole number that is not negative.
  func count() throws(JSONError) -> UInt64 {
    guard pointer.pointee.type == JSON_INTEGER, let count = UInt64(exactly: json_integer_value(pointer)) else {
      throw problem("is no whole number from 0 on")
    }
    guard count <= Self.maximumCount else { throw problem("is too large a number") }
    return count
  }

  /// Any number that is not negative.
  func number() throws(JSONError) -> Double {
    guard pointer.pointee.type == JSON_INTEGER || pointer.pointee.type == JSON_REAL else { throw problem("is no number") }
    let number = json_number_value(pointer)
    guard number >= 0 else { throw problem("is negative") }
    guard number <= Double(Self.maximumCount) else { throw problem("is too large a number") }
    return number
  }

  /// The elements of an array.
  func elements() throws(JSONError) -> [JSONValue] {
    guard pointer.pointee.type == JSON_ARRAY else { throw problem("is no array") }
    return (0..<json_array_size(pointer)).map { JSONValue(json_array_get(pointer, $0), at: .path("\(path)[\($0)]")) }
  }

  /// The keys and values of an object, in their order.
  func members() throws(JSONError) -> [(key: String, value: JSONValue)] {
    guard isObject else { throw problem("is no object") }
    var members: [(key: String, value: JSONValue)] = []
    var position = json_object_iter(pointer)
    while position != nil {
      let start = json_object_iter_key(position)
      let key = String(decoding: UnsafeRawBufferPointer(start: start, count: json_object_iter_key_len(position)), as: UTF8.self)
      members.append((key, JSONValue(json_object_iter_value(position), at: .path(isWhole ? key : "\(path).\(key)"))))
      position = json_object_iter_next(pointer, position)
    }
    return members
  }

  /// What is wrong here.
  func problem(_ message: String) -> JSONError { JSONError(isWhole ? message : "\(path) \(message)") }

  private var isWhole: Bool {
    if case .whole = place { true } else { false }
  }

  private var path: String {
    switch place {
    case .whole: ""
    case .key(let key): "\(key)"
    case .path(let path): path
    }
  }
}

extension JSONValue {
  /// The value of a key; nil where there is none, or null.
  @inline(__always)
  func value(_ key: StaticString) throws(JSONError) -> JSONValue? {
    guard isObject else { throw problem("is no object") }
    let value = key.utf8Start.withMemoryRebound(to: CChar.self, capacity: key.utf8CodeUnitCount + 1) {
      json_object_getn(pointer, $0, key.utf8CodeUnitCount)
    }
    guard let value, value.pointee.type != JSON_NULL else { return nil }
    return JSONValue(value, at: isWhole ? .key(key) : .path("\(path).\(key)"))
  }

  /// The value of a key that no report of ours lacks.
  func required(_ key: StaticString) throws(JSONError) -> JSONValue {
    guard let value = try value(key) else { throw problem(isWhole ? "has no \(key)" : "lacks \(key)") }
    return value
  }

  func string(_ key: StaticString) throws(JSONError) -> String? { try value(key)?.string() }

  func boolean(_ key: StaticString) throws(JSONError) -> Bool? { try value(key)?.boolean() }

  /// 0 where there is none.
  func count(_ key: StaticString) throws(JSONError) -> UInt64 { try value(key)?.count() ?? 0 }

  /// The HTTP status of a failure; nil where there is none.
  func status() throws(JSONError) -> Int? {
    try value("status").map { value throws(JSONError) in try HTTPStatus(json: value) }?.code
  }

  /// None where there is none.
  func elements(_ key: StaticString) throws(JSONError) -> [JSONValue] { try value(key)?.elements() ?? [] }

  /// One of a few names, by what tells its value.
  func named<Value>(_ key: StaticString, _ read: (String) -> Value?) throws(JSONError) -> Value? {
    guard let value = try value(key) else { return nil }
    let name = try value.string()
    guard let result = read(name) else { throw value.problem("is '\(name.quotable)', which this version does not know") }
    return result
  }
}
