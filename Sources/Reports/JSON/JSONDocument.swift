import CJansson

/// A JSON text read into a tree, which goes with it.
struct JSONDocument: ~Copyable {
  /// The text's value; valid as long as the document.
  let root: JSONValue

  /// Reads a whole text. jansson bounds its depth (2,048) and refuses numbers that it cannot hold; a key may stand once in an object.
  init(_ text: UnsafeRawBufferPointer) throws(JSONError) {
    var error = json_error_t()
    // URLs of bad lines may hold a NUL, and rows write it as an escape.
    let flags = Int(JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL)
    guard let pointer = json_loadb(text.baseAddress, text.count, flags, &error) else {
      throw JSONError(JSONDocument.sentence(of: error), line: UInt64(max(0, error.line)))
    }
    root = JSONValue(pointer, at: .whole)
  }

  deinit { json_decref(root.pointer) }

  private static func sentence(of error: json_error_t) -> String {
    let text = withUnsafeBytes(of: error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return "is no valid JSON: \(text)"
  }
}

/// What is wrong with a JSON text, without the name of its file.
struct JSONError: Error {
  /// What follows the file's name: `is no valid JSON: …`.
  var message: String
  /// The line in the text, from 1; nil where the text as a whole is meant.
  var line: UInt64?

  init(_ message: String, line: UInt64? = nil) {
    self.message = message
    self.line = line
  }
}
