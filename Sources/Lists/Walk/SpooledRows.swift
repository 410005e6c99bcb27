import Base

/// The rows of a spool, with their texts, in fetching order.
final class SpooledRows: RowSource {
  static let areNew = false

  private let spool: EntrySpool
  private let files: [ListFile]
  private let versions: [FileVersion?]
  private let cursor: SpoolCursor
  /// Returns how many pages use the image of a URL, by the index of the file that names it.
  private let pages: (Int, UnsafeRawBufferPointer) -> UInt64
  private let spoolWindow: TextWindow
  private let fileWindow: TextWindow
  private var openFile: (index: Int, input: InputDescriptor)?
  private(set) var run: [PlainRow] = []

  init(
    _ spool: EntrySpool,
    files: [ListFile],
    versions: [FileVersion?],
    order: EntryOrder,
    pages: @escaping (Int, UnsafeRawBufferPointer) -> UInt64
  ) {
    self.pages = pages
    self.spool = spool
    self.files = files
    self.versions = versions
    cursor = SpoolCursor(spool, order: order)
    spoolWindow = TextWindow(order: order)
    fileWindow = TextWindow(order: order)
  }

  func next() throws(ListError) -> RowSourceStep {
    var name = files.first?.name ?? ""
    do throws(InputError) {
      guard let record = try cursor.next() else { return .end }
      let file = Int(record.file)
      name = files[file].name
      return .row(try row(of: record), file: file, cursor.priority)
    } catch {
      throw error.error(in: name)
    }
  }

  func takeRun(maximum: Int) -> (file: Int, priority: LoadPriority)? {
    run.removeAll(keepingCapacity: true)
    guard let first = cursor.upcoming, first.isSpooled || openFile.map({ $0.index == Int(first.file) }) == true else {
      return nil
    }
    let window = first.isSpooled ? spoolWindow : fileWindow
    while run.count < maximum, let record = cursor.upcoming, record.isNeighbour(of: first), !record.hasTrailer,
      let text = window.heldBytes(at: record.offset, length: record.length)
    {
      run.append(PlainRow(url: text, line: record.line, offset: record.offset))
      cursor.passUpcoming()
    }
    return run.isEmpty ? nil : (Int(first.file), cursor.priority)
  }

  private func row(of record: SpoolRecord) throws(InputError) -> Row {
    if record.hasTrailer {
      let (text, trailer) = try textAndTrailer(of: record)
      let image = trailer.original.map { Array($0.utf8) }
      let note = trailer.note.map { note in
        if note.origin == nil { return note }
        return note.used(by: image?.withRawBytes { pages(Int(record.file), $0) } ?? pages(Int(record.file), text))
      }
      return Row(url: text, line: record.line, problem: trailer.problem, note: note)
    }
    return Row(url: record.isSpooled ? try spooledText(of: record) : try textInFile(of: record), line: record.line)
  }

  private func spooledText(of record: SpoolRecord, extra: Int = 0) throws(InputError) -> UnsafeRawBufferPointer {
    guard let bytes = try spoolWindow.bytes(at: record.offset, length: record.length + extra, of: spool.texts!) else {
      throw InputError("the temporary file of the list is truncated")
    }
    return bytes
  }

  private func textAndTrailer(of record: SpoolRecord) throws(InputError) -> (UnsafeRawBufferPointer, RowTrailer) {
    let prefix = try spooledText(of: record, extra: 2)
    let length = Int(prefix.loadUnaligned(fromByteOffset: record.length, as: UInt16.self))
    let bytes = try spooledText(of: record, extra: 2 + length)
    return (UnsafeRawBufferPointer(rebasing: bytes[..<record.length]), RowTrailer(decoding: bytes[(record.length + 2)...]))
  }

  private func textInFile(of record: SpoolRecord) throws(InputError) -> UnsafeRawBufferPointer {
    let input = try open(Int(record.file))
    guard let bytes = try fileWindow.bytes(at: record.offset, length: record.length, of: input) else { throw Self.changed }
    return bytes
  }

  /// Opens the file again, and checks that it hasn't changed.
  private func open(_ index: Int) throws(InputError) -> InputDescriptor {
    if let openFile, openFile.index == index { return openFile.input }
    guard case .path(let path)? = files[index].location else { preconditionFailure("only files are referred to by offset") }
    let input = try InputDescriptor(path: path)
    guard input.version == versions[index] else { throw Self.changed }
    fileWindow.reset()
    openFile = (index, input)
    return input
  }

  private static let changed = InputError("it changed while it was being read; run again")
}

/// The order of entries of the same priority.
package enum EntryOrder: Sendable, Hashable {
  /// The order of the lists.
  case fifo
  /// The last entry of the last list first.
  case lifo
}

/// Iterates over a spool's records: from the highest to the lowest priority, and for each priority in the chosen order.
final class SpoolCursor {
  private static let blockRecords = 8192
  private static let recordBytes = UInt64(MemoryLayout<SpoolRecord>.stride)

  private let spool: EntrySpool
  private let order: EntryOrder
  private let block = UnsafeMutableBufferPointer<SpoolRecord>.allocate(capacity: blockRecords)
  private var unread: Range<Int> = 0..<0
  /// Records of this priority that aren't in a block yet.
  private var left: Range<UInt64> = 0..<0
  private var nextClass = 0
  private(set) var priority = LoadPriority.veryHigh

  init(_ spool: EntrySpool, order: EntryOrder) {
    self.spool = spool
    self.order = order
  }

  deinit { block.deallocate() }

  /// Returns the next record, whose priority is in ``priority``; nil at the end.
  func next() throws(InputError) -> SpoolRecord? {
    while unread.isEmpty {
      if left.isEmpty, !startNextClass() { return nil }
      if !left.isEmpty { try readBlock() }
    }
    defer { passUpcoming() }
    return upcoming
  }

  /// The next record if it is in memory and has the priority in ``priority``.
  @inline(__always)
  var upcoming: SpoolRecord? {
    if unread.isEmpty { return nil }
    return block[order == .fifo ? unread.lowerBound : unread.upperBound - 1]
  }

  /// Skips ``upcoming``, which must not be nil.
  @inline(__always)
  func passUpcoming() {
    unread = order == .fifo ? unread.lowerBound + 1..<unread.upperBound : unread.lowerBound..<unread.upperBound - 1
  }

  private func startNextClass() -> Bool {
    guard nextClass < LoadPriority.allCases.count else { return false }
    // Priorities are declared from the highest to the lowest.
    priority = LoadPriority.allCases[nextClass]
    left = 0..<((spool.records(of: priority)?.count ?? 0) / Self.recordBytes)
    nextClass += 1
    return true
  }

  private func readBlock() throws(InputError) {
    let count = min(left.upperBound - left.lowerBound, UInt64(Self.blockRecords))
    let start = order == .fifo ? left.lowerBound : left.upperBound - count
    left = order == .fifo ? (start + count)..<left.upperBound : left.lowerBound..<start
    let bytes = UnsafeMutableRawBufferPointer(start: block.baseAddress!, count: Int(count * Self.recordBytes))
    guard try spool.records(of: priority)!.read(into: bytes, at: start * Self.recordBytes) == bytes.count else {
      throw InputError("the temporary file of the list is truncated")
    }
    unread = 0..<Int(count)
  }
}

/// A file that can be read again from any offset.
protocol OffsetReadable {
  /// Reads from `offset` up to the length of `destination` or the end of the file.
  func read(into destination: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(InputError) -> Int
}

extension InputDescriptor: OffsetReadable {}
extension SpoolFile: OffsetReadable {}

/// A part of a file in memory, so that adjacent texts need one read.
final class TextWindow {
  private let order: EntryOrder
  private let storage: UnsafeMutableRawBufferPointer
  private var range: Range<UInt64> = 0..<0

  /// Creates a window of so many bytes that is moved in that order.
  init(order: EntryOrder, byteCount: Int = 256 << 10) {
    self.order = order
    storage = .allocate(byteCount: byteCount, alignment: 16)
  }

  deinit { storage.deallocate() }

  /// Empties the window, before another file is read.
  func reset() { range = 0..<0 }

  /// The bytes at `offset` if they are in the window; valid until ``bytes(at:length:of:)`` is called.
  @inline(__always)
  func heldBytes(at offset: UInt64, length: Int) -> UnsafeRawBufferPointer? {
    guard offset >= range.lowerBound, offset + UInt64(length) <= range.upperBound else { return nil }
    return UnsafeRawBufferPointer(rebasing: storage[Int(offset - range.lowerBound)..<Int(offset - range.lowerBound) + length])
  }

  /// Returns the bytes at `offset`, valid until the next call; nil if the file ends before them.
  ///
  /// `length` is at most half of the window.
  func bytes(at offset: UInt64, length: Int, of file: some OffsetReadable) throws(InputError) -> UnsafeRawBufferPointer? {
    if let held = heldBytes(at: offset, length: length) { return held }
    let end = offset + UInt64(length)
    let start = order == .fifo ? offset : end - min(end, UInt64(storage.count))
    range = start..<(start + UInt64(try file.read(into: storage, at: start)))
    return heldBytes(at: offset, length: length)
  }
}
