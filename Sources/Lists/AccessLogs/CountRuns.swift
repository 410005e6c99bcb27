/// Sorted runs of counts in one spool file, which are merged later, so that counting needs bounded memory (external
/// merge sort).
final class CountRuns {
  /// A count as it is written, followed by its text.
  struct Header {
    var count: UInt64
    var location: LogLocation
    var length: UInt64
  }

  /// The number of runs merged at once; each has its own window.
  static let maximumCount = 64

  private let file: SpoolFile
  private(set) var ranges: [Range<UInt64>] = []
  private var start: UInt64 = 0

  init(in directory: String) throws(InputError) { file = try SpoolFile(in: directory) }

  /// Adds the next count to the current run.
  func append(count: UInt64, location: LogLocation, _ text: UnsafeRawBufferPointer) throws(InputError) {
    let header = Header(count: count, location: location, length: UInt64(text.count))
    try withUnsafePointer(to: header) { pointer throws(InputError) in
      try file.append(UnsafeRawBufferPointer(start: pointer, count: MemoryLayout<Header>.size))
    }
    try file.append(text)
  }

  /// Ends the current run.
  func endRun() throws(InputError) {
    try file.flush()
    if file.count > start { ranges.append(start..<file.count) }
    start = file.count
  }

  /// Adds all counts of a sorted table as a run.
  func append(_ table: RequestTable) throws(InputError) {
    for count in table.counts { try append(count: count.count, location: count.location, table.text(of: count)) }
    try endRun()
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
  private(set) var current = (
    count: UInt64(0), location: LogLocation(file: 0, line: 0), text: UnsafeRawBufferPointer(start: nil, count: 0)
  )

  init(_ file: SpoolFile, _ range: Range<UInt64>) {
    self.file = file
    unread = range
  }

  deinit { window.deallocate() }

  /// Advances to the next count; returns false at the end.
  func advance() throws(InputError) -> Bool {
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
    guard end <= filled.upperBound else { throw InputError("the temporary file of request counts is truncated") }
    current = (header.count, header.location, UnsafeRawBufferPointer(rebasing: window[start..<end]))
    filled = end..<filled.upperBound
    return true
  }

  private func refill() throws(InputError) {
    window.copyMemory(from: UnsafeRawBufferPointer(rebasing: window[filled]))
    let room = min(window.count - filled.count, Int(clamping: unread.upperBound - unread.lowerBound))
    let target = UnsafeMutableRawBufferPointer(rebasing: window[filled.count..<(filled.count + room)])
    guard try file.read(into: target, at: unread.lowerBound) == room, filled.count + room >= MemoryLayout<CountRuns.Header>.size
    else {
      throw InputError("the temporary file of request counts is truncated")
    }
    filled = 0..<(filled.count + room)
    unread = (unread.lowerBound + UInt64(room))..<unread.upperBound
  }
}

/// Merges sorted runs: a binary heap of runs, ordered by their next counts.
final class CountMerge {
  enum Order {
    case byText, mostAskedFirst
  }

  private let order: Order
  private var heap: [CountRun] = []
  private var hasBegun = false

  init(_ runs: [CountRun], order: Order) throws(InputError) {
    self.order = order
    for run in runs where try run.advance() { heap.append(run) }
    for index in heap.indices.reversed() { siftDown(index) }
  }

  /// Returns the next count, whose text is valid until the next call; nil at the end.
  func next() throws(InputError) -> (count: UInt64, location: LogLocation, text: UnsafeRawBufferPointer)? {
    if hasBegun, let first = heap.first {
      if try !first.advance() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
      }
      siftDown(0)
    }
    hasBegun = true
    return heap.first?.current
  }

  private func precedes(_ left: CountRun, _ right: CountRun) -> Bool {
    let (left, right) = (left.current, right.current)
    switch order {
    case .byText: return left.text.isLess(than: right.text)
    case .mostAskedFirst: return left.count != right.count ? left.count > right.count : left.location < right.location
    }
  }

  private func siftDown(_ start: Int) {
    var index = start
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count && precedes(heap[child], heap[least]) { least = child }
      if least == index { return }
      heap.swapAt(index, least)
      index = least
    }
  }
}

/// Merged runs in which each target occurs once, with the sum of its counts.
final class SummedCounts {
  private let merge: CountMerge
  private var pending: (count: UInt64, location: LogLocation)?
  private var pendingText = GrowingBytes()
  private var givenText = GrowingBytes()

  /// Creates the sums of a merge that is ordered by text.
  init(_ merge: CountMerge) { self.merge = merge }

  /// Returns the next target, whose text is valid until the next call; nil at the end.
  func next() throws(InputError) -> (count: UInt64, location: LogLocation, text: UnsafeRawBufferPointer)? {
    while let (count, location, text) = try merge.next() {
      if let sum = pending, pendingText.bytes.isEqual(to: text) {
        pending = (sum.count + count, min(sum.location, location))
        continue
      }
      let ended = pending
      swap(&pendingText, &givenText)
      pendingText.removeAll()
      pendingText.append(text)
      pending = (count, location)
      if let ended { return (ended.count, ended.location, givenText.bytes) }
    }
    defer { pending = nil }
    return pending.map { ($0.count, $0.location, pendingText.bytes) }
  }
}
