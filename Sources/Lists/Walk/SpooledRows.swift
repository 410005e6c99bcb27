import Base

/// The order of entries of the same priority.
package enum EntryOrder: Sendable, Hashable {
  /// The order of the lists.
  case fifo
  /// The last entry of the last list first.
  case lifo
}

/// The rows of a spool in fetching order: from the highest to the lowest priority, and for each priority in the chosen order.
final class SpooledRows: RowSource {
  static let areNew = false

  private let spool: EntrySpool
  private let files: [ListFile]
  private let order: EntryOrder
  /// Returns how many pages use the image of a URL, by the index of the file that names it.
  private let pages: (Int, UnsafeRawBufferPointer) -> UInt64
  private let window: TextWindow
  // Priorities are declared from the highest to the lowest.
  private var priorities = LoadPriority.allCases[...]
  private var tape: EntrySpool.Tape?
  private var priority = LoadPriority.veryHigh
  /// The offset of the next record; nil after the last one.
  private var offset: UInt64?
  private(set) var run: [PlainRow] = []

  init(_ spool: EntrySpool, files: [ListFile], order: EntryOrder, pages: @escaping (Int, UnsafeRawBufferPointer) -> UInt64) {
    self.pages = pages
    self.spool = spool
    self.files = files
    self.order = order
    window = TextWindow(order: order)
  }

  func takeRun(maximum: Int) -> (file: Int, priority: LoadPriority)? {
    run.removeAll(keepingCapacity: true)
    var file: UInt32?
    while run.count < maximum, let offset,
      let record = window.heldBytes(at: offset, length: SpoolRecord.headerLength)?.loadUnaligned(as: SpoolRecord.self),
      record.trailerLength == 0, record.file == file ?? record.file,
      let url = window.heldBytes(at: offset + UInt64(SpoolRecord.headerLength), length: Int(record.urlLength))
    {
      file = record.file
      run.append(PlainRow(url: url, line: record.line))
      pass(record, at: offset)
    }
    return file.map { (Int($0), priority) }
  }

  func next() throws(ListError) -> RowSourceStep {
    var file = 0
    do throws(InputError) {
      while offset == nil {
        guard let next = priorities.popFirst() else { return .end }
        start(next)
      }
      guard let offset, let tape else { preconditionFailure("a tape with an offset") }
      let record = try bytes(at: offset, SpoolRecord.headerLength, of: tape).loadUnaligned(as: SpoolRecord.self)
      file = Int(record.file)
      let bytes = try bytes(at: offset, record.length, of: tape)
      pass(record, at: offset)
      return .row(row(record, bytes), file: file, priority)
    } catch {
      throw error.error(in: file < files.count ? files[file].name : "")
    }
  }

  private func start(_ next: LoadPriority) {
    priority = next
    tape = spool.tape(of: next)
    window.reset()
    offset = tape.map { order == .fifo ? 0 : $0.file.count - UInt64($0.lastLength) }
  }

  @inline(__always)
  private func pass(_ record: SpoolRecord, at offset: UInt64) {
    if order == .fifo {
      let end = offset + UInt64(record.length)
      self.offset = end < tape.unsafelyUnwrapped.file.count ? end : nil
    } else {
      self.offset = record.previousLength > 0 ? offset - UInt64(record.previousLength) : nil
    }
  }

  private func bytes(at offset: UInt64, _ count: Int, of tape: EntrySpool.Tape) throws(InputError) -> UnsafeRawBufferPointer {
    guard let bytes = try window.bytes(at: offset, length: count, of: tape.file) else {
      throw InputError("the temporary file of the list is truncated")
    }
    return bytes
  }

  private func row(_ record: SpoolRecord, _ bytes: UnsafeRawBufferPointer) -> Row {
    let texts = bytes[SpoolRecord.headerLength...]
    let url = UnsafeRawBufferPointer(rebasing: texts.prefix(Int(record.urlLength)))
    if record.trailerLength == 0 { return Row(url: url, line: record.line) }
    let trailer = RowTrailer(decoding: texts.dropFirst(url.count))
    let image = trailer.original.map { Array($0.utf8) }
    let note = trailer.note.map { note in
      if note.origin == nil { return note }
      return note.used(by: image?.withRawBytes { pages(Int(record.file), $0) } ?? pages(Int(record.file), url))
    }
    return Row(url: url, line: record.line, problem: trailer.problem, note: note)
  }
}

/// A part of a temporary file in memory, so that adjacent texts need one read.
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

  /// Returns the bytes at `offset`, valid until the next call; nil if the file ends before them. The window is longer than
  /// `length`.
  func bytes(at offset: UInt64, length: Int, of file: SpoolFile) throws(InputError) -> UnsafeRawBufferPointer? {
    if let held = heldBytes(at: offset, length: length) { return held }
    let end = offset + UInt64(length)
    let start = order == .fifo ? offset : end - min(end, UInt64(storage.count))
    range = start..<(start + UInt64(try file.read(into: storage, at: start)))
    return heldBytes(at: offset, length: length)
  }
}
