/// Sorted runs of counts in one spool file, to be merged: what makes counting run in bounded memory (external merge sort).
final class CountRuns {
  /// A count as it is written; its text follows.
  struct Header {
    var count: UInt64
    var place: LogPlace
    var length: UInt64
  }

  /// Runs that are merged at once; each has a window of its own.
  static let maximumCount = 64

  private let file: SpoolFile
  private(set) var ranges: [Range<UInt64>] = []
  private var start: UInt64 = 0

  init(in directory: String) throws(InputFailure) { file = try SpoolFile(in: directory) }

  /// Adds the next count to the run that is written.
  func append(count: UInt64, place: LogPlace, _ text: UnsafeRawBufferPointer) throws(InputFailure) {
    let header = Header(count: count, place: place, length: UInt64(text.count))
    try withUnsafePointer(to: header) { pointer throws(InputFailure) in
      try file.append(UnsafeRawBufferPointer(start: pointer, count: MemoryLayout<Header>.size))
    }
    try file.append(text)
  }

  /// Ends the run that is written.
  func endRun() throws(InputFailure) {
    try file.flush()
    if file.count > start { ranges.append(start..<file.count) }
    start = file.count
  }

  /// Adds all counts of a table, which are in order, as a run.
  func append(_ table: RequestTable) throws(InputFailure) {
    for count in table.counts { try append(count: count.count, place: count.place, table.text(of: count)) }
    try endRun()
  }

  /// All runs, to be merged; those that are added from here on are others.
  func takeAll() -> [CountRun] {
    defer { ranges = [] }
    return ranges.map { CountRun(file, $0) }
  }
}

/// One run while it is read.
final class CountRun {
  private static let windowBytes = 128 << 10

  private let file: SpoolFile
  private var unread: Range<UInt64>
  private let window = UnsafeMutableRawBufferPointer.allocate(byteCount: windowBytes, alignment: 16)
  private var filled: Range<Int> = 0..<0
  /// The count that was read last, and its text, which is valid until the next.
  private(set) var current = (
    count: UInt64(0), place: LogPlace(file: 0, line: 0), text: UnsafeRawBufferPointer(start: nil, count: 0)
  )

  init(_ file: SpoolFile, _ range: Range<UInt64>) {
    self.file = file
    unread = range
  }

  deinit { window.deallocate() }

  /// Goes to the next count; false at the end.
  func advance() throws(InputFailure) -> Bool {
    if filled.isEmpty, unread.isEmpty { return false }
    let headerBytes = MemoryLayout<CountRuns.Header>.size
    if filled.count < headerBytes { try refill() }
    var header = window.loadUnaligned(fromByteOffset: filled.lowerBound, as: CountRuns.Header.self)
    if filled.count < headerBytes + Int(header.length) {
      try refill()
      header = window.loadUnaligned(fromByteOffset: filled.lowerBound, as: CountRuns.Header.self)
    }
    let start = filled.lowerBound + headerBytes
    let end = start + Int(header.length)
    guard end <= filled.upperBound else { throw InputFailure("the spool of counts was cut short") }
    current = (header.count, header.place, UnsafeRawBufferPointer(rebasing: window[start..<end]))
    filled = end..<filled.upperBound
    return true
  }

  private func refill() throws(InputFailure) {
    window.copyMemory(from: UnsafeRawBufferPointer(rebasing: window[filled]))
    let room = min(window.count - filled.count, Int(clamping: unread.upperBound - unread.lowerBound))
    let target = UnsafeMutableRawBufferPointer(rebasing: window[filled.count..<(filled.count + room)])
    guard try file.read(into: target, at: unread.lowerBound) == room, filled.count + room >= MemoryLayout<CountRuns.Header>.size
    else {
      throw InputFailure("the spool of counts was cut short")
    }
    filled = 0..<(filled.count + room)
    unread = (unread.lowerBound + UInt64(room))..<unread.upperBound
  }
}
