import Glibc

/// The lines of a list. They end in LF or CRLF, or at the end of the text. A lone CR is an ordinary character.
final class LineReader {
  /// A line without its LF.
  struct Line {
    /// Valid until the next line is read.
    var bytes: UnsafeRawBufferPointer
    /// Its number, from 1.
    var number: UInt64
    /// Whether it is longer than ``InputBuffer/maximumRowBytes``, so that these are only its first bytes.
    var isTooLong: Bool
  }

  enum Step {
    case line(Line)
    case wouldBlock
    case end
  }

  private let buffer: InputBuffer
  private var number: UInt64 = 0
  /// The number of bytes at the start of the buffer that are known to contain no LF.
  private var searched = 0
  private var isSkipping = false
  private var isAfterMark = false

  init(_ buffer: InputBuffer) { self.buffer = buffer }

  @inline(__always)
  func next() -> Step {
    while true {
      let bytes = buffer.bytes
      if !isAfterMark {
        guard let markLength = ByteOrderMark.length(in: buffer) else { return .wouldBlock }
        isAfterMark = true
        buffer.consume(markLength)
        continue
      }
      if let feed = memchr(bytes.baseAddress! + searched, 10, bytes.count - searched) {
        let length = UnsafeRawPointer(feed) - bytes.baseAddress!
        if let line = take(length, and: 1) { return .line(line) }
        continue
      }
      searched = bytes.count
      if isSkipping && !bytes.isEmpty || bytes.count > InputBuffer.maximumRowBytes {
        if let line = take(bytes.count, and: 0, isWhole: false) { return .line(line) }
        continue
      }
      switch buffer.fill() {
      case .grown: break
      case .wouldBlock: return .wouldBlock
      case .ended:
        let rest = buffer.bytes
        if rest.isEmpty || buffer.failure != nil { return .end }
        if let line = take(rest.count, and: 0) { return .line(line) }
      }
    }
  }

  /// The step of the first line that `row` makes one of.
  @inline(__always)
  func step(_ row: (Line) -> RowStep?) -> RowStep {
    while true {
      switch next() {
      case .line(let line): if let step = row(line) { return step }
      case .wouldBlock: return .wouldBlock
      case .end: return .end
      }
    }
  }

  /// What to do with a line, and after it.
  enum Taking {
    case more, last
    /// It isn't taken, but read by ``next()``.
    case none
  }

  /// Takes complete lines from the buffer until one is too long or `body` ends it.
  @inline(__always)
  func takeWholeLines(_ body: (Line) -> Taking) {
    guard isAfterMark, !isSkipping, let base = buffer.bytes.baseAddress else { return }
    let count = buffer.bytes.count
    var start = 0
    var last = number
    var taking = Taking.more
    while taking == .more, let feed = memchr(base + start, 10, count - start) {
      let length = UnsafeRawPointer(feed) - (base + start)
      if length > InputBuffer.maximumRowBytes { break }
      let bytes = UnsafeRawBufferPointer(start: base + start, count: length)
      taking = body(Line(bytes: bytes, number: last + 1, isTooLong: false))
      if taking == .none { break }
      last += 1
      start += length + 1
    }
    guard start > 0 else { return }
    number = last
    searched = 0
    buffer.consume(start)
  }

  /// Consumes a line, or part of an overlong one; nil for the rest of a line that was already returned.
  @inline(__always)
  private func take(_ length: Int, and feedLength: Int, isWhole: Bool = true) -> Line? {
    let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes[..<length])
    buffer.consume(length + feedLength)
    searched = 0
    defer { isSkipping = !isWhole }
    if isSkipping { return nil }
    number += 1
    return Line(bytes: bytes, number: number, isTooLong: length > InputBuffer.maximumRowBytes)
  }
}

/// The byte-order mark that some editors write before UTF-8.
enum ByteOrderMark {
  /// Its length at the start of an unconsumed `buffer`: 3 or 0; nil if more bytes are needed.
  static func length(in buffer: InputBuffer) -> Int? {
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    if case .wouldBlock = buffer.find({ $0.count >= mark.count || !mark.starts(with: $0) ? true : nil }) { return nil }
    return buffer.bytes.starts(with: mark) ? mark.count : 0
  }
}
