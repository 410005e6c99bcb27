import Base
import Glibc

/// A report of an earlier run: a JSON report, or the rows of a JSON Lines report.
///
/// Rows are read one at a time, in constant memory. A JSON report is read as a whole and has at most ``maximumReportBytes``.
public final class ReportInput {
  /// The limit of a JSON report: prewarm's have some hundred kilobytes, or a few megabytes with thousands of manifests.
  public static let maximumReportBytes = 64 << 20
  /// The limit of a row. An invalid line of a manifest has at most 64 KiB, and six times as much when escaped.
  public static let maximumRowBytes = 1 << 20

  public enum Kind: Sendable {
    /// One object, `prewarm.report/1`.
    case report
    /// One object per line.
    case rows
  }

  public var path: String { file.path }
  /// Recognised by the beginning of the file.
  public let kind: Kind
  private let file: InputFile

  public init(path: String) throws(ReportReadingError) {
    file = try InputFile(path: path)
    kind = try Self.kind(of: file)
  }

  /// Reads the JSON report; must be called once only.
  ///
  /// A report of rows is a programmer error and traps; use ``RowReplay`` for one.
  public func report(words: ReportWords) throws(ReportReadingError) -> FinishedReport {
    trap(unless: kind == .report, "\(path) has rows, which a RowReplay counts")
    var report = try file.json(
      tooLarge: "is larger than \(Self.maximumReportBytes >> 20) MiB, so it isn't a prewarm report",
      JSONReport.read
    )
    report.words = words
    return report
  }

  /// Calls `body` with each row in turn, which is valid during the call; must be called once only. A last line without a line
  /// feed means that the report is incomplete, and throws. An error of `body` ends the reading and gets the location of its row.
  /// `isStopped` is asked before each row; if it returns true, the rest isn't read. `onEnd` gets the end of a shard's rows, of
  /// which concatenated reports have several.
  func rows(
    isStopped: () -> Bool = { false },
    onEnd: (RowsEnd) throws(JSONProblem) -> Void = { _ in },
    _ body: (ReportRow) throws(JSONProblem) -> Void
  ) throws(ReportReadingError) {
    var number: UInt64 = 0
    while !isStopped(), let line = try file.nextLine(maximum: Self.maximumRowBytes) {
      number += 1
      do throws(JSONProblem) {
        try file.withBytes { bytes throws(JSONProblem) in
          let text = UnsafeRawBufferPointer(rebasing: bytes[..<line.length])
          guard text.contains(where: { $0 > UInt8(ascii: " ") }) else { return }
          guard line.isWhole else { throw JSONProblem("the report is incomplete: its run was killed, or is still writing it") }
          try Self.read(text, onEnd, body)
        }
      } catch { throw ReportReadingError(path: path, line: number, message: error.message) }
      file.take(line)
    }
  }

  /// Whether the rows name their shard. Must be called before they are read.
  public func namesShard() throws(ReportReadingError) -> Bool {
    guard kind == .rows, let line = try file.nextLine(maximum: Self.maximumRowBytes) else { return false }
    return file.withBytes { bytes in
      do {
        let document = try JSONDocument(UnsafeRawBufferPointer(rebasing: bytes[..<line.length]))
        return try document.root.value(RowColumn.shard.name) != nil
      } catch { return false }
    }
  }

  private static func read(
    _ text: UnsafeRawBufferPointer,
    _ onEnd: (RowsEnd) throws(JSONProblem) -> Void,
    _ body: (ReportRow) throws(JSONProblem) -> Void
  ) throws(JSONProblem) {
    let document: JSONDocument
    do { document = try JSONDocument(text) } catch { throw JSONProblem("the row \(error.message)") }
    guard document.root.isObject else { throw JSONProblem("the row isn't an object") }
    let (url, job) = (try document.root.value(RowColumn.url.name), try document.root.value("job"))
    if url == nil, job != nil { try onEnd(RowsEnd(json: document.root)) } else { try body(ReportRow(value: document.root)) }
  }
}

extension ReportInput {
  /// Rows begin with their URL, as prewarm writes them. Otherwise the first line must be a whole object without a schema and, in a file
  /// whose name says JSON, with a URL.
  private static func kind(of file: InputFile) throws(ReportReadingError) -> Kind {
    var isMore = true
    while isMore, file.count <= maximumRowBytes, !file.withBytes({ $0.contains(UInt8(ascii: "\n")) }) { isMore = try file.fill() }
    return try file.withBytes { bytes throws(ReportReadingError) in
      func error(_ message: String) -> ReportReadingError { ReportReadingError(path: file.path, message: message) }
      let line = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count)])
      if bytes.starts(with: [0x1F, 0x8B]) { throw error("is compressed with gzip; uncompress it first") }
      switch bytes.first(where: { $0 > UInt8(ascii: " ") }) {
      case UInt8(ascii: "{"): return isRow(line, mayLackURL: !file.path.hasSuffix(".json")) ? .rows : .report
      case nil:
        // A run over an empty list writes a line feed only.
        if !bytes.isEmpty, file.path.hasSuffix(".jsonl") || file.path.hasSuffix(".ndjson") { return .rows }
        throw error("is empty; its run may have been killed before it wrote the report")
      default: throw error("isn't a prewarm report: neither JSON nor JSON Lines")
      }
    }
  }

  private static func isRow(_ line: UnsafeRawBufferPointer, mayLackURL: Bool) -> Bool {
    if line.starts(with: #"{"url":"#.utf8) { return true }
    do {
      let document = try JSONDocument(line)
      return try document.root.value("schema") == nil
        && (mayLackURL || document.root.value("url") != nil || document.root.value("shard") != nil)
    } catch { return false }
  }
}

/// A report, or a saved part of one, can't be read; the description names the file.
public struct ReportReadingError: Error, Sendable, Hashable, CustomStringConvertible {
  public var path: String
  /// The invalid line, from 1; nil if the error is about the whole file.
  public var line: UInt64?
  /// The cause, as it follows the name: `is empty`.
  public var message: String

  public var description: String {
    let place = path == "-" ? "standard input" : maskingCredentials(path)
    return line.map { "\(place):\($0): \(message)" } ?? "\(place) \(message)"
  }
}

/// The bytes of a file or a stream, read in pieces; a caller sees those that it hasn't consumed yet.
final class InputFile {
  private static let pieceBytes = 64 << 10

  let path: String
  private let descriptor: Int32
  private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 8)
  /// The part of `buffer` that is filled and not consumed yet.
  private var filled = 0..<0
  private(set) var isAtEnd = false

  init(path: String) throws(ReportReadingError) {
    self.path = path
    descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.error(path, errno) }
  }

  static func isMissing(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 && errno == ENOENT
  }

  /// Whether it is a file rather than a pipe or a device, whose reading may wait forever.
  static func isRegular(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  deinit {
    if descriptor > STDIN_FILENO { close(descriptor) }
    buffer.deallocate()
  }

  var count: Int { filled.count }

  /// Calls `body` with the bytes in memory, which are valid during the call only.
  func withBytes<Result, Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Result) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[filled]))
  }

  func take(_ count: Int) { filled = filled.lowerBound + count..<filled.upperBound }

  func fill() throws(ReportReadingError) -> Bool {
    guard !isAtEnd else { return false }
    makeRoom()
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled.upperBound...])
    var count = 0
    repeat { count = read(descriptor, room.baseAddress, room.count) } while count < 0 && errno == EINTR
    guard count >= 0 else { throw Self.error(path, errno) }
    filled = filled.lowerBound..<filled.upperBound + count
    isAtEnd = count == 0
    return count > 0
  }

  /// Moves the bytes to the start of the memory, which doubles if it is mostly full.
  private func makeRoom() {
    let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[filled])
    if filled.count > buffer.count / 2 {
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 8)
      larger.copyMemory(from: bytes)
      buffer.deallocate()
      buffer = larger
    } else if filled.lowerBound > 0 {
      buffer.copyMemory(from: bytes)
    }
    filled = 0..<filled.count
  }

  /// Reads the whole file as one JSON text of at most ``ReportInput/maximumReportBytes``.
  func json<Value>(tooLarge: String, _ read: (JSONValue) throws(JSONProblem) -> Value) throws(ReportReadingError) -> Value {
    while try fill() {
      if count > ReportInput.maximumReportBytes { throw ReportReadingError(path: path, message: tooLarge) }
    }
    do throws(JSONProblem) {
      return try withBytes { bytes throws(JSONProblem) in
        let document = try JSONDocument(bytes)
        return try read(document.root)
      }
    } catch { throw ReportReadingError(path: path, line: error.line, message: error.message) }
  }

  struct Line {
    /// Its length in bytes, without the line feed.
    var length: Int
    /// Whether a line feed ends it; the last line may have none.
    var isWhole: Bool
  }

  /// The next line, which the caller must consume before it asks for another; nil at the end.
  func nextLine(maximum: Int) throws(ReportReadingError) -> Line? {
    var searched = 0
    while true {
      let feed = withBytes { bytes -> Int? in
        guard bytes.count > searched, let start = bytes.baseAddress else { return nil }
        return memchr(start + searched, 10, bytes.count - searched).map { UnsafeRawPointer($0) - start }
      }
      if let feed { return Line(length: feed, isWhole: true) }
      searched = count
      guard searched <= maximum else {
        throw ReportReadingError(path: path, message: "has a line longer than \(maximum >> 10) KiB, so it isn't a prewarm report")
      }
      guard try fill() else { return count > 0 ? Line(length: count, isWhole: false) : nil }
    }
  }

  func take(_ line: Line) { take(line.length + (line.isWhole ? 1 : 0)) }

  private static func error(_ path: String, _ code: Int32) -> ReportReadingError {
    let message = code == EISDIR ? "is a folder; name the report in it" : "can't be read: \(errorSentence(code))"
    return ReportReadingError(path: path, message: message)
  }
}
