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
    let record = SpoolRecord(
      offset: location,
      length: row.url.count,
      line: row.line,
      file: file,
      isSpooled: isSpooled,
      hasTrailer: trailer != nil
    )
    try list(of: priority).append(record)
    count += 1
  }

  /// Adds rows of one priority and file, with their texts if these can't be read again.
  func append(_ rows: [PlainRow], priority: LoadPriority, file: Int, canReadAgain: Bool) throws(InputError) {
    let list = try list(of: priority)
    let texts = canReadAgain ? nil : try openTexts()
    for row in rows {
      let record = SpoolRecord(
        offset: texts?.count ?? row.offset,
        length: row.url.count,
        line: row.line,
        file: file,
        isSpooled: !canReadAgain,
        hasTrailer: false
      )
      try texts?.append(row.url)
      try list.append(record)
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
    try texts.append(UInt16(encoded.count))
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
}

/// An unlinked file that is appended to and then read from any offset; its storage is freed with its descriptor.
final class SpoolFile {
  private static let bufferBytes = 64 << 10

  private let file: UnnamedFile
  private var buffer: [UInt8] = []
  private var flushedBytes: UInt64 = 0

  init(_ file: UnnamedFile) {
    self.file = file
    buffer.reserveCapacity(Self.bufferBytes)
  }

  /// Creates a file in that folder.
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
  var count: UInt64 { flushedBytes + UInt64(buffer.count) }

  @inline(__always)
  func append(_ bytes: UnsafeRawBufferPointer) throws(InputError) {
    if buffer.count + bytes.count > Self.bufferBytes { try flush() }
    buffer.append(contentsOf: bytes)
  }

  /// Appends the bytes of a value.
  @inline(__always)
  func append<Value: BitwiseCopyable>(_ value: Value) throws(InputError) {
    if buffer.count + MemoryLayout<Value>.size > Self.bufferBytes { try flush() }
    withUnsafeBytes(of: value) { buffer.append(contentsOf: $0) }
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
    var coder = Coder(rest: bytes)
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

  /// Writes values, or reads them in the same order. Texts have a length in two bytes, and optional values a byte that says whether
  /// they are there.
  private struct Coder {
    var written: [UInt8] = []
    /// The bytes to read; nil if it writes.
    var rest: Slice<UnsafeRawBufferPointer>?

    mutating func code(_ bytes: inout [UInt8], count: Int) {
      guard let rest else { return written += bytes }
      bytes = Array(rest.prefix(count))
      self.rest = rest.dropFirst(count)
    }

    mutating func code<Number: FixedWidthInteger>(_ number: inout Number) {
      var bytes = withUnsafeBytes(of: number) { Array($0) }
      code(&bytes, count: bytes.count)
      number = bytes.count < MemoryLayout<Number>.size ? 0 : bytes.withUnsafeBytes { $0.loadUnaligned(as: Number.self) }
    }

    mutating func code<Number: FixedWidthInteger>(_ number: inout Number?) {
      var value = number ?? 0
      guard codePresence(number != nil) else { return }
      code(&value)
      number = value
    }

    mutating func code(_ text: inout String?, maximum: Int) {
      guard codePresence(text != nil) else { return }
      var bytes = Array((text ?? "").utf8.prefix(maximum))
      var count = UInt16(bytes.count)
      code(&count)
      code(&bytes, count: Int(count))
      text = String(decoding: bytes, as: UTF8.self)
    }

    private mutating func codePresence(_ isThere: Bool) -> Bool {
      var flag: UInt8 = isThere ? 1 : 0
      code(&flag)
      return flag == 1
    }
  }
}
