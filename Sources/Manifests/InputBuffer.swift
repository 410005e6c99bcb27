import Glibc

/// The part of a manifest's text that is being looked at: it grows at its end and is consumed at its start.
final class InputBuffer {
  /// How long a row may be.
  static let maximumRowBytes = 64 << 10

  /// What asking for more gave.
  enum Filling {
    case grown, wouldBlock
    /// No more comes: the text has ended, or broken off, which ``failure`` tells.
    case ended
  }

  private let stream: InputStream
  private let storage = UnsafeMutableRawBufferPointer.allocate(byteCount: InputStream.blockBytes + maximumRowBytes, alignment: 16)
  private var start = 0
  private var end = 0
  private var hasEnded = false
  /// Where the first unconsumed byte lies in the text.
  private(set) var offset: UInt64 = 0
  /// Why the text broke off.
  private(set) var failure: InputError?

  init(_ stream: InputStream) { self.stream = stream }

  deinit { storage.deallocate() }

  /// What is there and not consumed; valid until more is asked for.
  var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: storage.baseAddress.unsafelyUnwrapped + start, count: end - start)
  }

  /// Bytes of the file that were used up for what has been consumed, about.
  var consumedBytes: UInt64 { stream.isPlainFile ? offset : stream.consumedBytes }

  var isPlainFile: Bool { stream.isPlainFile }

  func consume(_ count: Int) {
    start += count
    offset += UInt64(count)
  }

  /// Adds what there is, without waiting for more; needs to be asked only where no row is whole.
  func fill() -> Filling {
    if hasEnded { return .ended }
    if start > 0 {
      memmove(storage.baseAddress!, storage.baseAddress! + start, end - start)
      end -= start
      start = 0
    }
    do throws(InputError) {
      switch try stream.read(into: UnsafeMutableRawBufferPointer(rebasing: storage[end...])) {
      case .bytes(let count):
        end += count
        return .grown
      case .wouldBlock: return .wouldBlock
      case .end: break
      }
    } catch {
      failure = error
    }
    hasEnded = true
    return .ended
  }
}

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
