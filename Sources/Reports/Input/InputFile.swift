import Base
import Glibc

/// The bytes of a file or a stream, read in pieces; a caller sees those that it hasn't consumed yet.
final class InputFile {
  private static let pieceBytes = 64 << 10

  /// The path as given; `-` is standard input.
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

  /// Whether no file has that name.
  static func isMissing(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 && errno == ENOENT
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

  /// Reads more bytes, and returns false at the end of the file.
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

  /// A line in memory.
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
