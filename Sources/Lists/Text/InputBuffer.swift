import Glibc

/// The part of a list's text that is being parsed: bytes are appended at its end and consumed at its start.
final class InputBuffer {
  /// The maximum length of a row.
  static let maximumRowBytes = 64 << 10

  /// The result of ``fill()``.
  enum Filling {
    case grown, wouldBlock
    /// No more bytes follow: the text has ended, or reading failed; see ``failure``.
    case ended
  }

  private let stream: InputStream
  private let storage = UnsafeMutableRawBufferPointer.allocate(byteCount: InputStream.blockBytes + maximumRowBytes, alignment: 16)
  private var start = 0
  private var end = 0
  private var hasEnded = false
  /// The offset of the first unconsumed byte in the text.
  private(set) var offset: UInt64 = 0
  /// The reason why reading failed.
  private(set) var failure: InputError?

  init(_ stream: InputStream) { self.stream = stream }

  deinit { storage.deallocate() }

  /// The unconsumed bytes, valid until the next ``fill()``.
  var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: storage.baseAddress.unsafelyUnwrapped + start, count: end - start)
  }

  /// The approximate number of bytes of the file that were used for the consumed text.
  var consumedBytes: UInt64 { stream.isPlainFile ? offset : stream.consumedBytes }

  func consume(_ count: Int) {
    start += count
    offset += UInt64(count)
  }

  /// Appends available bytes without blocking; only needed if no row is complete.
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

extension InputBuffer {
  /// Appends available bytes until they are enough, and returns `grown` then.
  func fill(until isEnough: (UnsafeRawBufferPointer) -> Bool) -> Filling {
    while !isEnough(bytes) {
      let filling = fill()
      if filling != .grown { return filling }
    }
    return .grown
  }
}

/// Bytes in one block that grows; appending may move the bytes.
final class GrowingBytes {
  private var storage = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
  private(set) var count = 0

  deinit { storage.deallocate() }

  /// All bytes, valid until more are appended.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[..<count]) }

  subscript(range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[range]) }

  func append(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: storage[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  /// Removes the bytes before `start`, and moves the rest to the front.
  func removeFirst(_ start: Int) {
    guard start > 0 else { return }
    let rest = UnsafeRawBufferPointer(rebasing: storage[start..<count])
    storage.copyMemory(from: rest)
    count = rest.count
  }

  /// Removes the bytes from `end` on.
  func removeAll(from end: Int = 0) { count = end }

  private func reserve(_ more: Int) {
    guard count + more > storage.count else { return }
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(storage.count * 2, count + more), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[..<count]))
    storage.deallocate()
    storage = larger
  }
}

/// Space for the unescaped texts of one row. They are never longer than the row, so the block never moves.
final class ScratchBytes {
  private let storage: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  /// Creates space for the texts of a row, of which each may be unescaped `rows` times.
  init(rows: Int = 1) { storage = .allocate(byteCount: rows * InputBuffer.maximumRowBytes, alignment: 16) }

  deinit { storage.deallocate() }

  func removeAll() { count = 0 }

  /// Removes the bytes appended after the first `start` bytes.
  func removeAll(after start: Int) { count = start }

  func append(_ byte: UInt8) {
    storage[count] = byte
    count += 1
  }

  /// The bytes appended after the first `start` bytes; valid until ``removeAll()``.
  func bytes(from start: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(storage)[start..<count])
  }
}
