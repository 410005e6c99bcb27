import Glibc
import ImagePrimitives

/// The rows of all manifests, sorted by class: what makes LIFO and several classes run in flat memory.
///
/// One forward pass writes it: for each class a list of fixed records, which are then read forwards or backwards in blocks. A
/// record refers to the text in the manifest's file where that can be read again; rows of pipes and compressed files, unescaped
/// texts and problems are kept as text beside the lists. All are unlinked files, made when first needed.
final class EntrySpool {
  private let directory: String
  private var lists: [SpoolFile?] = Array(repeating: nil, count: Priority.allCases.count)
  private(set) var texts: SpoolFile?
  private(set) var count = 0

  init(directory: String) { self.directory = directory }

  /// Keeps a row; `offset` is where its URL lies in its file, nil if that cannot be read again.
  func append(_ row: Row, priority: Priority, file: Int, offset: UInt64?) throws(InputError) {
    var location = offset ?? 0
    let isSpooled = offset == nil || row.problem != nil
    if isSpooled { location = try keep(row) }
    var record = SpoolRecord(
      offset: location,
      length: row.url.count,
      line: row.line,
      file: file,
      isSpooled: isSpooled,
      hasProblem: row.problem != nil
    )
    let list = try list(of: priority)
    do { try withUnsafeBytesTyped(of: &record) { bytes throws(InputError) in try list.append(bytes) } }
    count += 1
  }

  /// Keeps rows of one class and file; where they cannot be read again, their texts are kept too.
  func append(_ rows: [PlainRow], priority: Priority, file: Int, canReadAgain: Bool) throws(InputError) {
    let list = try list(of: priority)
    let texts = canReadAgain ? nil : try openTexts()
    for row in rows {
      var record = SpoolRecord(
        offset: texts?.count ?? row.offset,
        length: row.url.count,
        line: row.line,
        file: file,
        isSpooled: !canReadAgain,
        hasProblem: false
      )
      try texts?.append(row.url)
      try withUnsafeBytesTyped(of: &record) { bytes throws(InputError) in try list.append(bytes) }
    }
    count += rows.count
  }

  /// Writes out what is kept in memory; to be called before reading.
  func finish() throws(InputError) {
    for list in lists { try list?.flush() }
    try texts?.flush()
  }

  /// The list of a class; nil if it has no rows.
  func records(of priority: Priority) -> SpoolFile? { lists[Int(priority.rawValue)] }

  private func keep(_ row: Row) throws(InputError) -> UInt64 {
    let texts = try openTexts()
    let offset = texts.count
    try texts.append(row.url)
    guard let problem = row.problem else { return offset }
    let sentence = Array(problem.utf8.prefix(Int(UInt16.max)))
    var length = UInt16(sentence.count)
    try withUnsafeBytesTyped(of: &length) { bytes throws(InputError) in try texts.append(bytes) }
    try sentence.withUnsafeBufferPointer { bytes throws(InputError) in try texts.append(UnsafeRawBufferPointer(bytes)) }
    return offset
  }

  private func openTexts() throws(InputError) -> SpoolFile {
    if let texts { return texts }
    let texts = try SpoolFile(in: directory)
    self.texts = texts
    return texts
  }

  private func list(of priority: Priority) throws(InputError) -> SpoolFile {
    if let list = lists[Int(priority.rawValue)] { return list }
    let list = try SpoolFile(in: directory)
    lists[Int(priority.rawValue)] = list
    return list
  }

  /// `withUnsafeBytes(of:)`, which does not pass on typed errors yet.
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

/// A file without a name that is written once, at its end, and then read from anywhere; it goes with its descriptor.
final class SpoolFile {
  private static let bufferBytes = 64 << 10

  private let file: UnnamedFile
  private var buffer: [UInt8] = []
  private var flushedBytes: UInt64 = 0

  /// A new file in that folder.
  init(in directory: String) throws(InputError) {
    do throws(UnnamedFileError) {
      file = try UnnamedFile(in: directory)
    } catch {
      throw InputError(
        "the list cannot be spooled in \(directory): \(error.reason); "
          + "where the cache is only read, set TMPDIR to a folder that can be written"
      )
    }
    buffer.reserveCapacity(Self.bufferBytes)
  }

  /// The length in bytes, with what is not written yet.
  var count: UInt64 { flushedBytes + UInt64(buffer.count) }

  @inline(__always)
  func append(_ bytes: UnsafeRawBufferPointer) throws(InputError) {
    if buffer.count + bytes.count > Self.bufferBytes { try flush() }
    buffer.append(contentsOf: bytes)
  }

  /// Writes what is kept; to be called before reading.
  func flush() throws(InputError) {
    let bytes = buffer
    buffer.removeAll(keepingCapacity: true)
    do throws(UnnamedFileError) {
      try file.append(bytes)
    } catch {
      throw InputError("the spool of the list cannot be written: \(error.reason)")
    }
    flushedBytes += UInt64(bytes.count)
  }

  /// Reads from `offset`, as much as there is up to the length of `destination`.
  func read(into destination: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(InputError) -> Int {
    guard let count = readAll(file.descriptor, at: offset, into: destination) else {
      throw InputError(systemCall: "reading the list's spool")
    }
    return count
  }
}

/// Where one row is kept, and where it comes from.
struct SpoolRecord {
  /// Where its text begins, in its own file or in the spool's texts.
  var offset: UInt64
  /// The line on which it begins, from 1.
  var line: UInt64
  /// The index of its file.
  var file: UInt32
  /// The text's length in bytes; it is followed by the problem where there is one.
  private var lengthAndFlags: UInt32

  /// Whether the text lies in the spool, and not in the manifest's own file.
  var isSpooled: Bool { lengthAndFlags & 1 << 31 != 0 }
  /// Whether a problem, as the spool keeps it, follows the text: its length in two bytes, and a sentence.
  var hasProblem: Bool { lengthAndFlags & 1 << 30 != 0 }
  /// Whether both are of one file, and their texts too.
  func isNeighbour(of other: SpoolRecord) -> Bool { file == other.file && isSpooled == other.isSpooled }
  var length: Int { Int(lengthAndFlags & (1 << 30 - 1)) }

  init(offset: UInt64, length: Int, line: UInt64, file: Int, isSpooled: Bool, hasProblem: Bool) {
    self.offset = offset
    self.line = line
    self.file = UInt32(file)
    lengthAndFlags = UInt32(length) | (isSpooled ? 1 << 31 : 0) | (hasProblem ? 1 << 30 : 0)
  }
}
