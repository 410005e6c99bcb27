import Glibc

/// Converts a text of another encoding into UTF-8, piece by piece, with iconv(3).
final class TextConverter {
  private static let blockBytes = 16 << 10

  private let converter: iconv_t
  private let replacesInvalid: Bool
  /// The bytes that are skipped where the text is invalid.
  private let unitBytes: Int
  /// An incomplete character.
  private var rest: [UInt8] = []
  /// Whether there were bytes that are invalid in the encoding.
  private(set) var isBroken = false

  /// Creates a converter that replaces invalid bytes by U+FFFD, or stops at them; nil if iconv doesn't know the encoding.
  init?(from encoding: String, replacesInvalid: Bool) {
    guard let converter = iconv_open("UTF-8", encoding), converter != iconv_t(bitPattern: -1) else { return nil }
    self.converter = converter
    self.replacesInvalid = replacesInvalid
    unitBytes = encoding.hasPrefix("UTF-16") ? 2 : 1
  }

  deinit { iconv_close(converter) }

  /// Returns the next bytes as UTF-8, about `maximum` bytes at most; a character that isn't complete follows with the next call.
  func utf8(of bytes: UnsafeRawBufferPointer, isLast: Bool, maximum: Int = .max) -> [UInt8] {
    var text: [UInt8] = []
    var source = rest + bytes
    let left = source.withUnsafeMutableBytes { (source: UnsafeMutableRawBufferPointer) -> Int in
      var next = source.bindMemory(to: CChar.self).baseAddress
      var left = source.count
      while left > 0, text.count < maximum {
        let problem = append(&next, &left, to: &text)
        if problem == 0 || problem == EINVAL && !isLast { break }
        if problem == E2BIG { continue }
        isBroken = true
        guard replacesInvalid else { break }
        text += "\u{fffd}".utf8
        let skipped = min(unitBytes, left)
        next = next?.advanced(by: skipped)
        left -= skipped
      }
      return left
    }
    rest = Array(source.suffix(left))
    return text
  }

  /// Converts a block, and returns the error that ended it; 0 if there is none.
  private func append(_ next: inout UnsafeMutablePointer<CChar>?, _ left: inout Int, to text: inout [UInt8]) -> Int32 {
    var problem: Int32 = 0
    text += [UInt8](unsafeUninitializedCapacity: Self.blockBytes) { block, count in
      block.withMemoryRebound(to: CChar.self) { block in
        var end = block.baseAddress
        var room = block.count
        if iconv(converter, &next, &left, &end, &room) == -1 { problem = errno }
        count = block.count - room
      }
    }
    return problem
  }
}
