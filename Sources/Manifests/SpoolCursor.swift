import ImagePrimitives

/// The order of entries within their class.
public enum EntryOrder: Sendable, Hashable {
  /// As the manifests have them.
  case fifo
  /// The last entry of the last manifest first.
  case lifo
}

/// Goes over a spool's records: from the highest class to the lowest, within a class in the order that was asked for.
final class SpoolCursor {
  private static let blockRecords = 8192
  private static let recordBytes = UInt64(MemoryLayout<SpoolRecord>.stride)

  private let spool: EntrySpool
  private let order: EntryOrder
  private let block = UnsafeMutableBufferPointer<SpoolRecord>.allocate(capacity: blockRecords)
  private var unread: Range<Int> = 0..<0
  /// Records of the class that are in no block yet.
  private var left: Range<UInt64> = 0..<0
  private var nextClass = 0
  private(set) var priority = Priority.veryHigh

  init(_ spool: EntrySpool, order: EntryOrder) {
    self.spool = spool
    self.order = order
  }

  deinit { block.deallocate() }

  /// The next record, of the class in ``priority``; nil at the end.
  func next() throws(InputFailure) -> SpoolRecord? {
    while unread.isEmpty {
      if left.isEmpty, !startNextClass() { return nil }
      if !left.isEmpty { try readBlock() }
    }
    defer { passUpcoming() }
    return upcoming
  }

  /// The next record, where it is in memory and of the class in ``priority``.
  @inline(__always)
  var upcoming: SpoolRecord? {
    if unread.isEmpty { return nil }
    return block[order == .fifo ? unread.lowerBound : unread.upperBound - 1]
  }

  /// Passes over ``upcoming``, which is there.
  @inline(__always)
  func passUpcoming() {
    unread = order == .fifo ? unread.lowerBound + 1..<unread.upperBound : unread.lowerBound..<unread.upperBound - 1
  }

  private func startNextClass() -> Bool {
    guard nextClass < Priority.allCases.count else { return false }
    // Priorities are declared from the highest to the lowest.
    priority = Priority.allCases[nextClass]
    left = 0..<((spool.records(of: priority)?.count ?? 0) / Self.recordBytes)
    nextClass += 1
    return true
  }

  private func readBlock() throws(InputFailure) {
    let count = min(left.upperBound - left.lowerBound, UInt64(Self.blockRecords))
    let start = order == .fifo ? left.lowerBound : left.upperBound - count
    left = order == .fifo ? (start + count)..<left.upperBound : left.lowerBound..<start
    let bytes = UnsafeMutableRawBufferPointer(start: block.baseAddress!, count: Int(count * Self.recordBytes))
    guard try spool.records(of: priority)!.read(into: bytes, at: start * Self.recordBytes) == bytes.count else {
      throw InputFailure("the list's spool was cut short")
    }
    unread = 0..<Int(count)
  }
}
