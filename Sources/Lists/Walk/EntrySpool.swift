import Glibc
import Base

/// The rows of all lists, sorted by priority, on disk, so that LIFO and several priorities need constant memory.
///
/// One forward pass writes it: for each priority a list of fixed-size records, which are then read forwards or
/// backwards in blocks. A record refers to the text in the list's file if that can be read again. Rows of pipes and
/// compressed files, unescaped texts and problems are copied beside the lists. All files are unlinked, and created when
/// first needed.
final class EntrySpool {
  private let directory: String
  private var lists: [SpoolFile?] = Array(repeating: nil, count: LoadPriority.allCases.count)
  private(set) var texts: SpoolFile?
  private(set) var count = 0

  init(directory: String) { self.directory = directory }

  /// Adds a row; `offset` is that of its URL in its file, nil if the file can't be read again.
  func append(_ row: Row, priority: LoadPriority, file: Int, offset: UInt64?) throws(InputError) {
    var location = offset ?? 0
    let trailer = RowTrailer(row)
    let isSpooled = offset == nil || trailer != nil
    if isSpooled { location = try keep(row, trailer) }
    var record = SpoolRecord(
      offset: location,
      length: row.url.count,
      line: row.line,
      file: file,
      isSpooled: isSpooled,
      hasTrailer: trailer != nil
    )
    let list = try list(of: priority)
    do { try withUnsafeBytesTyped(of: &record) { bytes throws(InputError) in try list.append(bytes) } }
    count += 1
  }

  /// Adds rows of one priority and file, with their texts if these can't be read again.
  func append(_ rows: [PlainRow], priority: LoadPriority, file: Int, canReadAgain: Bool) throws(InputError) {
    let list = try list(of: priority)
    let texts = canReadAgain ? nil : try openTexts()
    for row in rows {
      var record = SpoolRecord(
        offset: texts?.count ?? row.offset,
        length: row.url.count,
        line: row.line,
        file: file,
        isSpooled: !canReadAgain,
        hasTrailer: false
      )
      try texts?.append(row.url)
      try withUnsafeBytesTyped(of: &record) { bytes throws(InputError) in try list.append(bytes) }
    }
    count += rows.count
  }

  /// Writes buffered data; must be called before reading.
  func finish() throws(InputError) {
    for list in lists { try list?.flush() }
    try texts?.flush()
  }

  /// The list of a priority; nil if it has no rows.
  func records(of priority: LoadPriority) -> SpoolFile? { lists[Int(priority.rawValue)] }

  private func keep(_ row: Row, _ trailer: RowTrailer?) throws(InputError) -> UInt64 {
    let texts = try openTexts()
    let offset = texts.count
    try texts.append(row.url)
    guard let trailer else { return offset }
    let encoded = trailer.encoded
    var length = UInt16(encoded.count)
    try withUnsafeBytesTyped(of: &length) { bytes throws(InputError) in try texts.append(bytes) }
    try encoded.withRawBytes { bytes throws(InputError) in try texts.append(bytes) }
    return offset
  }

  private func openTexts() throws(InputError) -> SpoolFile {
    if let texts { return texts }
    let texts = try SpoolFile(in: directory)
    self.texts = texts
    return texts
  }

  private func list(of priority: LoadPriority) throws(InputError) -> SpoolFile {
    if let list = lists[Int(priority.rawValue)] { return list }
    let list = try SpoolFile(in: directory)
    lists[Int(priority.rawValue)] = list
    return list
  }

  /// `withUnsafeBytes(of:)`, which doesn't support typed errors yet.
  @inline(__always)
  private func withUnsafeBytesTyped<Value>(
    of value: inout Value,
    _ body: (UnsafeRawBufferPointer) throws(InputError) -> Void
  ) throws(InputError) {
    try withUnsafePointer(to: &value) { pointer throws(InputError) in
      try body(UnsafeRawBufferPointer(start: pointer, count: MemoryLayout<Value>.size))
    }
  }
}

/// An unlinked file that is appended to and then read from any offset; its storage is freed with its descriptor.
final class SpoolFile {
  private static let bufferBytes = 64 << 10

  private let file: UnnamedFile
  private var buffer: [UInt8] = []
  private var flushedBytes: UInt64 = 0

  /// Creates a file in that folder.
  init(in directory: String) throws(InputError) {
    do throws(UnnamedFileError) {
      file = try UnnamedFile(in: directory)
    } catch {
      throw InputError(
        "cannot create a temporary file in \(directory): \(error.reason); "
          + "if the cache is read-only, set TMPDIR to a writable folder"
      )
    }
    buffer.reserveCapacity(Self.bufferBytes)
  }

  /// The length in bytes, including buffered data.
  var count: UInt64 { flushedBytes + UInt64(buffer.count) }

  @inline(__always)
  func append(_ bytes: UnsafeRawBufferPointer) throws(InputError) {
    if buffer.count + bytes.count > Self.bufferBytes { try flush() }
    buffer.append(contentsOf: bytes)
  }

  /// Writes buffered data; must be called before reading.
  func flush() throws(InputError) {
    let bytes = buffer
    buffer.removeAll(keepingCapacity: true)
    do throws(UnnamedFileError) {
      try file.append(bytes)
    } catch {
      throw InputError("cannot write the temporary file of the list: \(error.reason)")
    }
    flushedBytes += UInt64(bytes.count)
  }

  /// Reads from `offset` up to the length of `destination` or the end of the file.
  func read(into destination: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(InputError) -> Int {
    guard let count = readAll(file.descriptor, at: offset, into: destination) else {
      throw InputError(systemCall: "read of the list's temporary file")
    }
    return count
  }
}

/// The origin of a row, and the location of its text.
struct SpoolRecord {
  /// The offset of its text in its own file, or in the spool's texts.
  var offset: UInt64
  /// The line on which it starts, from 1.
  var line: UInt64
  /// The index of its file.
  var file: UInt32
  /// The text's length in bytes, and flags.
  private var lengthAndFlags: UInt32

  /// Whether the text is in the spool instead of the list's own file.
  var isSpooled: Bool { lengthAndFlags & 1 << 31 != 0 }
  /// Whether the text is followed by a ``RowTrailer``: its length in two bytes, and its encoded form.
  var hasTrailer: Bool { lengthAndFlags & 1 << 30 != 0 }
  /// Whether both are of the same file, and their texts too.
  func isNeighbour(of other: SpoolRecord) -> Bool { file == other.file && isSpooled == other.isSpooled }
  var length: Int { Int(lengthAndFlags & (1 << 30 - 1)) }

  init(offset: UInt64, length: Int, line: UInt64, file: Int, isSpooled: Bool, hasTrailer: Bool) {
    self.offset = offset
    self.line = line
    self.file = UInt32(file)
    lengthAndFlags = UInt32(length) | (isSpooled ? 1 << 31 : 0) | (hasTrailer ? 1 << 30 : 0)
  }
}
