import ImagePrimitives
import ImageURLs

/// A report that a run has written: a JSON report, or the rows of a JSON Lines report.
///
/// Rows are read as they are asked for, in flat memory. A JSON report is read at once and may have ``maximumReportBytes``.
public final class ReportInput {
  /// What a JSON report may have at most: ours have some hundred kilobytes, and a few megabytes with thousands of manifests.
  public static let maximumReportBytes = 64 << 20
  /// What a row may have at most. A URL has 64 KiB at most, as a line of a manifest that is none, and six times that when escaped.
  public static let maximumRowBytes = 1 << 20

  public enum Kind: Sendable {
    /// One object, `prewarm.report/1`.
    case report
    /// An object a line.
    case rows
  }

  /// The path as it was given; `-` is standard input.
  public var path: String { file.path }
  /// What is in it, by its beginning.
  public let kind: Kind
  private let file: InputFile

  public init(path: String) throws(ReportReadingError) {
    file = try InputFile(path: path)
    kind = try Self.kind(of: file)
  }

  /// The JSON report; to be called once.
  ///
  /// A report of rows is a programmer error and traps: see ``RowReplay``.
  public func report(words: ReportWords) throws(ReportReadingError) -> FinishedReport {
    trap(unless: kind == .report, "\(path) has rows, which a RowReplay counts")
    while try file.fill() {
      if file.count > Self.maximumReportBytes {
        throw ReportReadingError(path: path, message: "is larger than \(Self.maximumReportBytes >> 20) MiB, as no report is")
      }
    }
    do throws(JSONError) {
      var report = try file.withBytes { bytes throws(JSONError) in
        let document = try JSONDocument(bytes)
        return try JSONReport.read(document.root)
      }
      report.words = words
      return report
    } catch {
      throw ReportReadingError(path: path, line: error.line, message: error.message)
    }
  }

  /// Calls `body` with each row in turn, valid for the call; to be called once.
  ///
  /// A last line without its feed is of a report that is not whole, and throws.
  ///
  /// What `body` throws ends the reading, with the place of its row; where `isStopped` says so, asked before each row, the rest is not read.
  func rows(
    isStopped: () -> Bool = { false },
    _ body: (ReportRow) throws(JSONError) -> Void
  ) throws(ReportReadingError) {
    var number: UInt64 = 0
    while !isStopped(), let line = try file.nextLine(maximum: Self.maximumRowBytes) {
      number += 1
      do throws(JSONError) {
        try file.withBytes { bytes throws(JSONError) in
          let text = UnsafeRawBufferPointer(rebasing: bytes[..<line.length])
          guard text.contains(where: { $0 > UInt8(ascii: " ") }) else { return }
          guard line.isWhole else {
            throw JSONError("the report ends here, but isn't complete: its run was killed, or is still writing it")
          }
          try Self.read(text, body)
        }
      } catch {
        throw ReportReadingError(path: path, line: number, message: error.message)
      }
      file.take(line)
    }
  }

  private static func read(
    _ text: UnsafeRawBufferPointer,
    _ body: (ReportRow) throws(JSONError) -> Void
  ) throws(JSONError) {
    let document: JSONDocument
    do {
      document = try JSONDocument(text)
    } catch {
      throw JSONError("the row \(error.message)")
    }
    guard document.root.isObject else { throw JSONError("the row is no object") }
    try body(ReportRow(value: document.root))
  }
}

extension ReportInput {
  /// Rows begin with their URL, as ours do, or are at least a whole object in the first line that names no schema, and, in a file that
  /// is called a JSON report, names a URL.
  private static func kind(of file: InputFile) throws(ReportReadingError) -> Kind {
    var isMore = true
    while isMore, file.count <= maximumRowBytes, !file.withBytes({ $0.contains(UInt8(ascii: "\n")) }) { isMore = try file.fill() }
    let beginning = file.withBytes { bytes -> Beginning in
      let line = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count)])
      if bytes.starts(with: [0x1F, 0x8B]) { return .compressed }
      guard let first = bytes.first(where: { $0 > UInt8(ascii: " ") }) else { return .nothing(isWhole: !bytes.isEmpty) }
      guard first == UInt8(ascii: "{") else { return .foreign }
      return .object(isRow: isRow(line, mayLackURL: !file.path.hasSuffix(".json")))
    }
    switch beginning {
    case .object(let isRow): return isRow ? .rows : .report
    case .compressed: throw ReportReadingError(path: file.path, message: "is compressed with gzip; uncompress it first")
    case .foreign: throw ReportReadingError(path: file.path, message: "is no report of prewarm: neither JSON nor JSON Lines")
    case .nothing(let isWhole):
      // A run over an empty list leaves no row, but a feed.
      if isWhole, file.path.hasSuffix(".jsonl") || file.path.hasSuffix(".ndjson") { return .rows }
      throw ReportReadingError(path: file.path, message: "is empty; a run may have been killed before it could write its report")
    }
  }

  private enum Beginning {
    case object(isRow: Bool)
    case nothing(isWhole: Bool)
    case compressed, foreign
  }

  private static func isRow(_ line: UnsafeRawBufferPointer, mayLackURL: Bool) -> Bool {
    if line.starts(with: #"{"url":"#.utf8) { return true }
    do {
      let document = try JSONDocument(line)
      return try document.root.value("schema") == nil && (mayLackURL || document.root.value("url") != nil)
    } catch {
      return false
    }
  }
}

/// Why an earlier report, or what was kept of one, could not be read, as one sentence that names the file.
public struct ReportReadingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The path as it was given; `-` is standard input.
  public var path: String
  /// The line that is wrong, from 1; nil if the file as a whole is.
  public var line: UInt64?
  /// What is wrong, as it follows the name: `is empty`.
  public var message: String

  public init(path: String, line: UInt64? = nil, message: String) {
    self.path = path
    self.line = line
    self.message = message
  }

  public var description: String {
    let place = path == "-" ? "standard input" : maskingCredentials(path)
    return line.map { "\(place):\($0): \(message)" } ?? "\(place) \(message)"
  }
}
