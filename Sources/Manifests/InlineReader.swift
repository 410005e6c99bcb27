/// Rows of a list that stands in the job file.
final class InlineReader: RowReader {
  private struct Entry {
    var range: Range<Int>
    var line: UInt64
  }

  private let storage: UnsafeMutableRawBufferPointer
  private let entries: [Entry]
  private var index = 0

  init(_ list: [Manifest.InlineEntry]) {
    var bytes: [UInt8] = []
    entries = list.map { entry in
      let start = bytes.count
      bytes.append(contentsOf: entry.text.utf8)
      return Entry(range: start..<bytes.count, line: entry.line)
    }
    storage = .allocate(byteCount: bytes.count, alignment: 1)
    storage.copyBytes(from: bytes)
  }

  deinit { storage.deallocate() }

  func readHeader() -> Bool { true }

  var mayNamePriority: Bool { false }

  func next() -> RowStep {
    guard index < entries.count else { return .end }
    let entry = entries[index]
    index += 1
    let text = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(storage)[entry.range]).trimmed()
    if text.count > InputBuffer.maximumRowBytes { return .row(.tooLong(text, line: entry.line)) }
    return .row(Row(url: text, line: entry.line))
  }
}
