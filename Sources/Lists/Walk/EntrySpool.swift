import Glibc
import Base

/// The rows of all lists, sorted by priority, on disk, so that LIFO and several priorities need constant memory.
///
/// One forward pass writes a file for each priority, which is then read forwards or backwards in blocks. The files are small
/// beside the images that their URLs lead to. They are unlinked, and created when first needed.
final class EntrySpool {
  /// The rows of a priority.
  final class Tape {
    let file: SpoolFile
    /// The length of the last record.
    private(set) var lastLength: UInt32 = 0

    init(in directory: String) throws(InputError) { file = try SpoolFile(in: directory) }

    @inline(__always)
    func append(_ url: UnsafeRawBufferPointer, line: UInt64, file index: Int, trailer: [UInt8] = []) throws(InputError) {
      let record = SpoolRecord(
        line: line,
        file: UInt32(index),
        urlLength: UInt32(url.count),
        trailerLength: UInt32(trailer.count),
        previousLength: lastLength
      )
      lastLength = UInt32(record.length)
      try file.append(record)
      try file.append(url)
      if !trailer.isEmpty { try trailer.withRawBytes { bytes throws(InputError) in try file.append(bytes) } }
    }
  }

  private let directory: String
  private var tapes: [Tape?] = Array(repeating: nil, count: LoadPriority.allCases.count)
  private(set) var count = 0

  init(directory: String) { self.directory = directory }

  func append(_ row: Row, priority: LoadPriority, file: Int) throws(InputError) {
    try openTape(of: priority).append(row.url, line: row.line, file: file, trailer: RowTrailer(row)?.encoded ?? [])
    count += 1
  }

  /// Adds rows of one priority and file.
  func append(_ rows: [PlainRow], priority: LoadPriority, file: Int) throws(InputError) {
    let tape = try openTape(of: priority)
    for row in rows { try tape.append(row.url, line: row.line, file: file) }
    count += rows.count
  }

  /// Writes buffered data; must be called before reading.
  func finish() throws(InputError) { for tape in tapes { try tape?.file.flush() } }

  /// Nil if the priority has no rows.
  func tape(of priority: LoadPriority) -> Tape? { tapes[Int(priority.rawValue)] }

  private func openTape(of priority: LoadPriority) throws(InputError) -> Tape {
    if let tape = tape(of: priority) { return tape }
    let tape = try Tape(in: directory)
    tapes[Int(priority.rawValue)] = tape
    return tape
  }
}

/// A row in a spool, before its URL and its ``RowTrailer``.
struct SpoolRecord {
  /// The line on which it starts, from 1.
  var line: UInt64
  /// The index of its file.
  var file: UInt32
  /// The lengths in bytes, of which that of a missing trailer is 0.
  var urlLength: UInt32
  var trailerLength: UInt32
  /// The length of the record before it, by which LIFO finds that; 0 for the first.
  var previousLength: UInt32

  static let headerLength = MemoryLayout<SpoolRecord>.size
  /// The length of all of it.
  var length: Int { Self.headerLength + Int(urlLength) + Int(trailerLength) }
}

/// An unlinked file that is appended to and then read from any offset; its storage is freed with its descriptor.
final class SpoolFile {
  /// Longer than anything that is appended at once.
  private static let bufferBytes = 128 << 10

  private let file: UnnamedFile
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferBytes, alignment: 16)
  private var bufferedBytes = 0
  private var flushedBytes: UInt64 = 0

  init(_ file: UnnamedFile) { self.file = file }

  deinit { buffer.deallocate() }

  convenience init(in directory: String) throws(InputError) {
    do throws(UnnamedFileError) {
      self.init(try UnnamedFile(in: directory))
    } catch {
      throw InputError(
        "cannot create a temporary file in \(directory): \(error.reason); "
          + "if the cache is read-only, set TMPDIR to a writable folder"
      )
    }
  }

  /// The length in bytes, including buffered data.
  var count: UInt64 { flushedBytes + UInt64(bufferedBytes) }

  @inline(__always)
  func append(_ bytes: UnsafeRawBufferPointer) throws(InputError) {
    if bufferedBytes + bytes.count > Self.bufferBytes { try makeRoom(for: bytes.count) }
    if let start = bytes.baseAddress { memcpy(buffer.baseAddress.unsafelyUnwrapped + bufferedBytes, start, bytes.count) }
    bufferedBytes += bytes.count
  }

  /// Appends the bytes of a value.
  @inline(__always)
  func append<Value: BitwiseCopyable>(_ value: Value) throws(InputError) {
    let size = MemoryLayout<Value>.size
    if bufferedBytes + size > Self.bufferBytes { try makeRoom(for: size) }
    buffer.storeBytes(of: value, toByteOffset: bufferedBytes, as: Value.self)
    bufferedBytes += size
  }

  private func makeRoom(for count: Int) throws(InputError) {
    trap(unless: count <= Self.bufferBytes, "\(count) bytes at once are too many for a spool")
    try flush()
  }

  /// Writes buffered data; must be called before reading.
  func flush() throws(InputError) {
    do throws(UnnamedFileError) {
      try file.append(UnsafeRawBufferPointer(rebasing: buffer[..<bufferedBytes]))
    } catch {
      throw InputError("cannot write the temporary file of the list: \(error.reason)")
    }
    flushedBytes += UInt64(bufferedBytes)
    bufferedBytes = 0
  }

  /// Reads from `offset` up to the length of `destination` or the end of the file.
  func read(into destination: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(InputError) -> Int {
    guard let count = readAll(file.descriptor, at: offset, into: destination) else {
      throw InputError(systemCall: "read of the list's temporary file")
    }
    return count
  }
}

/// What a spooled row has besides its URL.
struct RowTrailer {
  var problem: String?
  var note: EntryNote?
  /// The URL by which a crawl counts its pages, if it isn't the row's own.
  var original: String?

  /// Its encoded form is shorter than 65,536 bytes.
  private static let maximumProblemBytes = 32 << 10
  private static let maximumTextBytes = 4 << 10

  /// Nil if there is nothing.
  init?(_ row: Row) {
    guard row.problem != nil || row.note != nil else { return nil }
    problem = row.problem
    note = row.note
    if row.note?.origin != nil { original = row.original.map { String(decoding: $0, as: UTF8.self) } }
  }

  init(note: EntryNote) { self.note = note }

  init(decoding bytes: Slice<UnsafeRawBufferPointer>) {
    var coder = Coder(rest: UnsafeRawBufferPointer(rebasing: bytes))
    code(&coder)
  }

  var encoded: [UInt8] {
    var (copy, coder) = (self, Coder())
    copy.code(&coder)
    return coder.written
  }

  private mutating func code(_ coder: inout Coder) {
    coder.code(&problem, maximum: Self.maximumProblemBytes)
    if coder.rest?.isEmpty ?? (note == nil) { return }
    var (id, modified) = (note?.id, note?.modified?.milliseconds)
    var (element, attribute) = (note?.origin?.element, note?.origin?.attribute)
    coder.code(&id, maximum: Self.maximumTextBytes)
    coder.code(&modified)
    coder.code(&element, maximum: Self.maximumTextBytes)
    coder.code(&attribute, maximum: Self.maximumTextBytes)
    coder.code(&original, maximum: URLNormalizer.maximumURLBytes)
    var claims = note?.claims ?? []
    var count = UInt8(clamping: claims.count)
    coder.code(&count)
    claims += repeatElement(ImageClaims(), count: max(0, Int(count) - claims.count))
    for index in 0..<Int(count) { Self.code(&claims[index], &coder) }
    var expectation = note?.expectation
    if !(coder.rest?.isEmpty ?? (expectation == nil)) {
      var known = expectation ?? ImageExpectation()
      Self.code(&known, &coder)
      expectation = known
    }
    guard coder.rest != nil else { return }
    note = EntryNote(
      id: id,
      origin: element.map { PageOrigin(element: $0, attribute: attribute ?? "") },
      expectation: expectation,
      claims: claims,
      modified: modified.map { Timestamp(milliseconds: $0) }
    )
  }

  private static func code(_ claims: inout ImageClaims, _ coder: inout Coder) {
    var (density, format) = (claims.density?.bitPattern, claims.format?.rawValue)
    var hasSizes: UInt8 = claims.hasSizes ? 1 : 0
    coder.code(&claims.sourceWidth)
    coder.code(&density)
    coder.code(&claims.width)
    coder.code(&claims.height)
    coder.code(&format)
    coder.code(&hasSizes)
    claims.density = density.map(Double.init(bitPattern:))
    claims.format = format.flatMap(ImageFormat.init(rawValue:))
    claims.hasSizes = hasSizes == 1
  }

  private static func code(_ expectation: inout ImageExpectation, _ coder: inout Coder) {
    var (sha256, format) = (expectation.sha256 ?? [], expectation.format?.rawValue)
    var count = UInt8(sha256.count)
    coder.code(&count)
    coder.code(&sha256, count: Int(count))
    coder.code(&expectation.width)
    coder.code(&expectation.height)
    coder.code(&expectation.bytes)
    coder.code(&format)
    expectation.sha256 = sha256.isEmpty ? nil : sha256
    expectation.format = format.flatMap(ImageFormat.init(rawValue:))
  }

  /// Writes values, or reads them in the same order. Texts have a length in two bytes, and optional values a byte that says
  /// whether they are there.
  private struct Coder {
    var written: [UInt8] = []
    /// The bytes to read; nil if it writes.
    var rest: UnsafeRawBufferPointer?

    mutating func code(_ bytes: inout [UInt8], count: Int) {
      if rest == nil { written += bytes } else { bytes = Array(take(count)) }
    }

    // Numbers pass no array: rows of a spool have a dozen of them.
    mutating func code<Number: FixedWidthInteger>(_ number: inout Number) {
      guard rest != nil else { return withUnsafeBytes(of: number) { written += $0 } }
      let bytes = take(MemoryLayout<Number>.size)
      number = bytes.count < MemoryLayout<Number>.size ? 0 : bytes.loadUnaligned(as: Number.self)
    }

    mutating func code<Number: FixedWidthInteger>(_ number: inout Number?) {
      guard codePresence(number != nil) else { return }
      var value = number ?? 0
      code(&value)
      number = value
    }

    mutating func code(_ text: inout String?, maximum: Int) {
      guard codePresence(text != nil) else { return }
      var count = UInt16(min(text?.utf8.count ?? 0, maximum))
      code(&count)
      guard rest == nil else { return text = String(decoding: take(Int(count)), as: UTF8.self) }
      written += (text ?? "").utf8.prefix(Int(count))
    }

    private mutating func codePresence(_ isThere: Bool) -> Bool {
      var flag: UInt8 = isThere ? 1 : 0
      code(&flag)
      return flag == 1
    }

    /// The next bytes to read, which are fewer at their end.
    private mutating func take(_ count: Int) -> UnsafeRawBufferPointer {
      let bytes = UnsafeRawBufferPointer(rebasing: (rest ?? UnsafeRawBufferPointer(start: nil, count: 0)).prefix(count))
      rest = rest.map { UnsafeRawBufferPointer(rebasing: $0.dropFirst(count)) }
      return bytes
    }
  }
}
