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
  private(set) var failure: InputFailure?

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
    do throws(InputFailure) {
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
