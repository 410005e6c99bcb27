import HeapModule

enum CountOrder {
  case byText, mostAskedFirst
}

/// Sorted runs of counts in one spool file, which are merged later, so that counting needs bounded memory (external
/// merge sort).
final class CountRuns {
  /// The number of runs merged at once; each has its own window.
  static let maximumCount = 64

  private let file: SpoolFile
  private(set) var ranges: [Range<UInt64>] = []
  private var start: UInt64 = 0

  init(in directory: String) throws(InputError) { file = try SpoolFile(in: directory) }

  /// Adds the next count and its text to the current run.
  func append(_ count: RequestCount, _ text: UnsafeRawBufferPointer) throws(InputError) {
    try withUnsafePointer(to: count) { pointer throws(InputError) in
      try file.append(UnsafeRawBufferPointer(start: pointer, count: MemoryLayout<RequestCount>.size))
    }
    try file.append(text)
  }

  /// Ends the current run.
  func endRun() throws(InputError) {
    try file.flush()
    if file.count > start { ranges.append(start..<file.count) }
    start = file.count
  }

  /// Returns all runs for merging; runs that are added later form a new set.
  func takeAll() -> [CountRun] {
    defer { ranges = [] }
    return ranges.map { CountRun(file, $0) }
  }
}

/// One run that is being read.
final class CountRun {
  private static let windowBytes = 128 << 10

  private let file: SpoolFile
  private var unread: Range<UInt64>
  private let window = UnsafeMutableRawBufferPointer.allocate(byteCount: windowBytes, alignment: 16)
  private var filled: Range<Int> = 0..<0
  /// The last count and its text, which is valid until the next one.
  private(set) var current: (count: RequestCount, text: UnsafeRawBufferPointer)

  init(_ file: SpoolFile, _ range: Range<UInt64>) {
    self.file = file
    unread = range
    let none = RequestCount(count: 0, location: LogLocation(file: 0, line: 0), offset: 0, length: 0)
    current = (none, UnsafeRawBufferPointer(start: nil, count: 0))
  }

  deinit { window.deallocate() }

  /// Advances to the next count; returns false at the end.
  func advance() throws(InputError) -> Bool {
    if filled.isEmpty, unread.isEmpty { return false }
    let headerBytes = MemoryLayout<RequestCount>.size
    if filled.count < headerBytes { try refill() }
    var header = window.loadUnaligned(fromByteOffset: filled.lowerBound, as: RequestCount.self)
    if filled.count < headerBytes + header.length {
      try refill()
      header = window.loadUnaligned(fromByteOffset: filled.lowerBound, as: RequestCount.self)
    }
    let start = filled.lowerBound + headerBytes
    let end = start + header.length
    guard end <= filled.upperBound else { throw InputError("the temporary file of request counts is truncated") }
    current = (header, UnsafeRawBufferPointer(rebasing: window[start..<end]))
    filled = end..<filled.upperBound
    return true
  }

  private func refill() throws(InputError) {
    window.copyMemory(from: UnsafeRawBufferPointer(rebasing: window[filled]))
    let room = min(window.count - filled.count, Int(clamping: unread.upperBound - unread.lowerBound))
    let target = UnsafeMutableRawBufferPointer(rebasing: window[filled.count..<(filled.count + room)])
    guard try file.read(into: target, at: unread.lowerBound) == room, filled.count + room >= MemoryLayout<RequestCount>.size
    else {
      throw InputError("the temporary file of request counts is truncated")
    }
    filled = 0..<(filled.count + room)
    unread = (unread.lowerBound + UInt64(room))..<unread.upperBound
  }
}

/// Merges sorted runs, and adds up the counts of equal targets that follow each other.
final class CountMerge {
  private struct Source: Comparable {
    let run: CountRun
    let order: CountOrder

    static func < (left: Source, right: Source) -> Bool {
      let (first, second) = (left.run.current, right.run.current)
      switch left.order {
      case .byText: return first.text.isLess(than: second.text)
      case .mostAskedFirst: return first.count.isMoreAsked(than: second.count)
      }
    }

    static func == (left: Source, right: Source) -> Bool { !(left < right) && !(right < left) }
  }

  private var sources = Heap<Source>()
  private let text = GrowingBytes()

  /// Creates the merge of runs that were sorted in that order.
  init(_ runs: [CountRun], _ order: CountOrder) throws(InputError) {
    for run in runs where try run.advance() { sources.insert(Source(run: run, order: order)) }
  }

  /// Returns the next count, whose text is valid until the next call; nil at the end.
  func next() throws(InputError) -> (count: RequestCount, text: UnsafeRawBufferPointer)? {
    guard var (sum, first) = sources.min?.run.current else { return nil }
    text.removeAll()
    text.append(first)
    first = text.bytes
    try advance()
    while let (count, text) = sources.min?.run.current, text.isEqual(to: first) {
      sum.count += count.count
      sum.location = min(sum.location, count.location)
      try advance()
    }
    return (sum, first)
  }

  private func advance() throws(InputError) {
    if let source = sources.popMin(), try source.run.advance() { sources.insert(source) }
  }
}
