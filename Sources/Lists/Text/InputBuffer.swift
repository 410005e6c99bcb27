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
      guard let count = try stream.read(into: UnsafeMutableRawBufferPointer(rebasing: storage[end...])) else {
        return .wouldBlock
      }
      end += count
      if count > 0 { return .grown }
    } catch {
      failure = error
    }
    hasEnded = true
    return .ended
  }
}

extension InputBuffer {
  /// The result of ``find(_:)``.
  enum Finding<Found> {
    case found(Found)
    /// The text ends before it, or it is longer than a row.
    case none
    case wouldBlock
  }

  /// Appends available bytes until `look` finds something in them.
  func find<Found>(_ look: (UnsafeRawBufferPointer) -> Found?) -> Finding<Found> {
    while true {
      if let found = look(bytes) { return .found(found) }
      if bytes.count > Self.maximumRowBytes { return .none }
      switch fill() {
      case .grown: break
      case .wouldBlock: return .wouldBlock
      case .ended: return .none
      }
    }
  }
}

/// Bytes in one block that grows; appending beyond its capacity moves the bytes.
final class GrowingBytes {
  private var storage: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(capacity: Int = 4096) { storage = .allocate(byteCount: capacity, alignment: 16) }

  deinit { storage.deallocate() }

  /// All bytes, valid until more are appended.
  var bytes: UnsafeRawBufferPointer { self[0..<count] }

  subscript(range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[range]) }

  /// Makes room for so many bytes in total.
  func reserve(_ capacity: Int) {
    guard capacity > storage.count else { return }
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(storage.count * 2, capacity), alignment: 16)
    larger.copyMemory(from: bytes)
    storage.deallocate()
    storage = larger
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    reserve(count + bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: storage[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  func append(_ byte: UInt8) {
    reserve(count + 1)
    storage[count] = byte
    count += 1
  }

  func append(_ text: StaticString) { text.withUTF8Buffer { append(UnsafeRawBufferPointer($0)) } }

  /// Removes the bytes before `start`, and moves the rest to the front.
  func removeFirst(_ start: Int) {
    guard start > 0 else { return }
    storage.copyMemory(from: self[start..<count])
    count -= start
  }

  /// Removes the bytes from `end` on.
  func removeAll(from end: Int = 0) { count = end }
}
