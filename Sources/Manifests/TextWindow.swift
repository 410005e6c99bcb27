/// A stretch of a file in memory, so that texts that lie near each other cost one read.
final class TextWindow {
  private static let windowBytes = 256 << 10

  private let order: EntryOrder
  private let storage = UnsafeMutableRawBufferPointer.allocate(byteCount: windowBytes, alignment: 16)
  private var range: Range<UInt64> = 0..<0

  /// A window that is read on in that order.
  init(order: EntryOrder) { self.order = order }

  deinit { storage.deallocate() }

  /// Forgets what it holds, before another file is read.
  func reset() { range = 0..<0 }

  /// The bytes at `offset` where the window holds them, valid until ``bytes(at:length:read:)`` is called.
  @inline(__always)
  func heldBytes(at offset: UInt64, length: Int) -> UnsafeRawBufferPointer? {
    guard offset >= range.lowerBound, offset + UInt64(length) <= range.upperBound else { return nil }
    return UnsafeRawBufferPointer(rebasing: storage[Int(offset - range.lowerBound)..<Int(offset - range.lowerBound) + length])
  }

  /// The bytes at `offset`, valid until the next call; nil where the file ends before them.
  ///
  /// `length` is at most half of the window. `read` reads at an offset as much as there is.
  func bytes(
    at offset: UInt64,
    length: Int,
    read: (UnsafeMutableRawBufferPointer, UInt64) throws(InputFailure) -> Int
  ) throws(InputFailure) -> UnsafeRawBufferPointer? {
    let end = offset + UInt64(length)
    if offset < range.lowerBound || end > range.upperBound {
      let start = order == .fifo ? offset : end - min(end, UInt64(storage.count))
      range = start..<(start + UInt64(try read(storage, start)))
      guard end <= range.upperBound else { return nil }
    }
    return UnsafeRawBufferPointer(rebasing: storage[Int(offset - range.lowerBound)..<Int(end - range.lowerBound)])
  }
}
