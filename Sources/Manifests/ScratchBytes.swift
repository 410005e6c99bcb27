/// Room for the unescaped texts of one row, which are never longer than the row: so it never moves.
final class ScratchBytes {
  private let storage = UnsafeMutableRawBufferPointer.allocate(byteCount: InputBuffer.maximumRowBytes, alignment: 16)
  private(set) var count = 0

  deinit { storage.deallocate() }

  func removeAll() { count = 0 }

  /// Removes what was appended since there were `start` bytes.
  func removeAll(after start: Int) { count = start }

  func append(_ byte: UInt8) {
    storage[count] = byte
    count += 1
  }

  /// What was appended since there were `start` bytes; valid until ``removeAll()``.
  func bytes(from start: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(storage)[start..<count])
  }
}
