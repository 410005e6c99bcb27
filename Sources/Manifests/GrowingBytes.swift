/// Bytes one after another in one block that grows; what was appended moves when it does.
final class GrowingBytes {
  private var storage = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
  private(set) var count = 0

  deinit { storage.deallocate() }

  /// All of them; valid until more are appended.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[..<count]) }

  subscript(range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[range]) }

  func append(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: storage[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  /// Forgets what lies before `start`, and moves the rest there.
  func removeFirst(_ start: Int) {
    guard start > 0 else { return }
    let rest = UnsafeRawBufferPointer(rebasing: storage[start..<count])
    storage.copyMemory(from: rest)
    count = rest.count
  }

  /// Forgets what lies from `end` on.
  func removeAll(from end: Int = 0) { count = end }

  private func reserve(_ more: Int) {
    guard count + more > storage.count else { return }
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(storage.count * 2, count + more), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[..<count]))
    storage.deallocate()
    storage = larger
  }
}
