import CJansson
import Base

/// A value of a JSON text, borrowed from its document, with its location for error messages. A value of another type is a
/// ``JSONProblem``, since the text may come from anywhere.
struct JSONValue {
  /// The limit of counts, about 10^15: larger ones could overflow when reports are merged.
  static let maximumCount: UInt64 = 1 << 50

  /// Most are members of a row, whose names cost nothing this way.
  enum Location {
    case whole
    case key(StaticString)
    /// Such as `hosts[3].latency_ms`.
    case path(String)
  }

  let pointer: UnsafeMutablePointer<json_t>
  private let location: Location

  init(_ pointer: UnsafeMutablePointer<json_t>, at location: Location) { (self.pointer, self.location) = (pointer, location) }
  var isObject: Bool { pointer.pointee.type == JSON_OBJECT }

  /// Whether it is null, which only ``members()`` returns.
  var isNull: Bool { pointer.pointee.type == JSON_NULL }

  /// The bytes of a string, valid for the lifetime of the document.
  func bytes() throws(JSONProblem) -> UnsafeRawBufferPointer {
    guard pointer.pointee.type == JSON_STRING, let start = json_string_value(pointer) else { throw problem("isn't a string") }
    return UnsafeRawBufferPointer(start: start, count: json_string_length(pointer))
  }

  func string() throws(JSONProblem) -> String { String(decoding: try bytes(), as: UTF8.self) }

  func boolean() throws(JSONProblem) -> Bool {
    switch pointer.pointee.type {
    case JSON_TRUE: return true
    case JSON_FALSE: return false
    default: throw problem("is neither true nor false")
    }
  }

  func count() throws(JSONProblem) -> UInt64 {
    guard pointer.pointee.type == JSON_INTEGER, let count = UInt64(exactly: json_integer_value(pointer)) else {
      throw problem("isn't a whole number from 0")
    }
    guard count <= Self.maximumCount else { throw problem("is too large") }
    return count
  }

  func number() throws(JSONProblem) -> Double {
    guard pointer.pointee.type == JSON_INTEGER || pointer.pointee.type == JSON_REAL else { throw problem("isn't a number") }
    let number = json_number_value(pointer)
    guard number >= 0 else { throw problem("is negative") }
    guard number <= Double(Self.maximumCount) else { throw problem("is too large") }
    return number
  }

  func elements() throws(JSONProblem) -> [JSONValue] {
    guard pointer.pointee.type == JSON_ARRAY else { throw problem("isn't an array") }
    return (0..<json_array_size(pointer)).map { JSONValue(json_array_get(pointer, $0), at: .path("\(path)[\($0)]")) }
  }

  func members() throws(JSONProblem) -> [(key: String, value: JSONValue)] {
    guard isObject else { throw problem("isn't an object") }
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

  func problem(_ message: String) -> JSONProblem { JSONProblem(isWhole ? message : "\(path) \(message)") }

  private var isWhole: Bool {
    if case .whole = location { true } else { false }
  }

  private var path: String {
    switch location {
    case .whole: ""
    case .key(let key): "\(key)"
    case .path(let path): path
    }
  }
}

extension JSONValue {
  /// The value of a key; nil if there is none, or null.
  @inline(__always)
  func value(_ key: StaticString) throws(JSONProblem) -> JSONValue? {
    guard isObject else { throw problem("isn't an object") }
    let value = key.utf8Start.withMemoryRebound(to: CChar.self, capacity: key.utf8CodeUnitCount + 1) {
      json_object_getn(pointer, $0, key.utf8CodeUnitCount)
    }
    guard let value, value.pointee.type != JSON_NULL else { return nil }
    return JSONValue(value, at: isWhole ? .key(key) : .path("\(path).\(key)"))
  }

  /// The value of a key that every prewarm report has.
  func required(_ key: StaticString) throws(JSONProblem) -> JSONValue {
    guard let value = try value(key) else { throw problem(isWhole ? "has no \(key)" : "lacks \(key)") }
    return value
  }

  func string(_ key: StaticString) throws(JSONProblem) -> String? { try value(key)?.string() }
}

/// A JSON text, parsed into a tree that it owns.
struct JSONDocument: ~Copyable {
  /// The text's value; valid for the lifetime of the document.
  let root: JSONValue

  /// Parses a whole text. jansson limits the depth to 2,048 and rejects numbers that it can't represent; keys of an object must be unique.
  init(_ text: UnsafeRawBufferPointer) throws(JSONProblem) {
    var error = json_error_t()
    // URLs of invalid lines may contain a NUL, which rows write as an escape.
    let flags = Int(JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL)
    guard let pointer = json_loadb(text.baseAddress, text.count, flags, &error) else {
      throw JSONProblem(JSONDocument.sentence(of: error), line: UInt64(max(0, error.line)))
    }
    root = JSONValue(pointer, at: .whole)
  }

  deinit { json_decref(root.pointer) }

  private static func sentence(of error: json_error_t) -> String {
    let text = withUnsafeBytes(of: error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return "isn't valid JSON: \(text)"
  }
}

/// A JSON text is invalid; the message doesn't name its file.
struct JSONProblem: Error {
  /// The part after the file's name: `isn't valid JSON: …`.
  var message: String
  /// The line in the text, from 1; nil if the error is about the whole text.
  var line: UInt64?

  init(_ message: String, line: UInt64? = nil) { (self.message, self.line) = (message, line) }
}
