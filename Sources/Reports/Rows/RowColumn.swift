/// The columns of a row, in their order; a form leaves out or leaves empty what is not known of an entry.
enum RowColumn: CaseIterable {
  case url, manifest, line, priority, outcome, kind, status, bytes, format, width, height, attempts, duration, remoteCache
  case message, storedBytes, shared, variant, edge, finalURL, contentType, bodyHash, warnings

  /// Its name in every form.
  @inline(__always)
  var name: StaticString {
    switch self {
    case .url: "url"
    case .manifest: "manifest"
    case .line: "line"
    case .priority: "priority"
    case .outcome: "outcome"
    case .kind: "kind"
    case .status: "status"
    case .bytes: "bytes"
    case .format: "format"
    case .width: "width"
    case .height: "height"
    case .attempts: "attempts"
    case .duration: "duration_ms"
    case .remoteCache: "remote_cache"
    case .message: "message"
    case .storedBytes: "stored_bytes"
    case .shared: "shared"
    case .variant: "variant"
    case .edge: "edge"
    case .finalURL: "final_url"
    case .contentType: "content_type"
    case .bodyHash: "body_hash"
    case .warnings: "warnings"
    }
  }
}

/// How a form writes rows: what stands around, before and between the values of columns. Numbers and `true` look alike in all.
protocol RowSyntax {
  /// What stands around text that needs no escape.
  static var quote: StaticString { get }

  /// Appends what stands before the value of a column, which is known.
  static func begin(_ column: RowColumn, in output: inout OutputBuffer)

  /// Appends what stands in place of a column that is not known.
  static func skip(_ column: RowColumn, in output: inout OutputBuffer)

  /// Appends text from outside.
  static func append(text: UnsafeRawBufferPointer, to output: inout OutputBuffer)

  /// Appends several texts as one value.
  static func append(list: [String], to output: inout OutputBuffer)

  /// Ends the row.
  static func end(in output: inout OutputBuffer)
}

extension RowSyntax {
  /// Appends text from outside.
  static func append(text: String, to output: inout OutputBuffer) {
    var text = text
    text.withUTF8 { append(text: UnsafeRawBufferPointer($0), to: &output) }
  }
}
