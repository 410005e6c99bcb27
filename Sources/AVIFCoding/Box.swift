import ImagePrimitives

/// A box of an ISO base media file (ISO/IEC 14496-12, section 4.2).
struct Box {
  /// Where its content lies in the file.
  let body: Range<Int>
  private let type: Int

  fileprivate init(type: Int, body: Range<Int>) {
    self.type = type
    self.body = body
  }

  /// Whether its type is one of those.
  func isAny(of types: [StaticString]) -> Bool { types.contains { Self.code($0) == type } }

  fileprivate static func code(_ type: StaticString) -> Int {
    (0..<4).reduce(0) { $0 << 8 | Int(type.utf8Start[$1]) }
  }
}

extension ByteView {
  /// The box that begins at `offset` and ends within `range`; nil where there is none.
  func box(at offset: Int, within range: Range<Int>) -> Box? {
    guard let size = bigEndian32(at: offset), let type = bigEndian32(at: offset + 4) else { return nil }
    var start = offset + 8
    var length = size
    if size == 1 {
      guard let high = bigEndian32(at: start), let low = bigEndian32(at: start + 4), high < 1 << 30 else { return nil }
      length = high << 32 | low
      start += 8
    } else if size == 0 {
      length = range.upperBound - offset
    }
    guard length >= start - offset, length <= range.upperBound - offset else { return nil }
    return Box(type: type, body: start..<offset + length)
  }

  /// The content of the first box of that type among those in `range`.
  func firstBox(_ type: StaticString, in range: Range<Int>) -> Range<Int>? {
    var offset = range.lowerBound
    while let box = box(at: offset, within: range) {
      if box.isAny(of: [type]) { return box.body }
      offset = box.body.upperBound
    }
    return nil
  }
}
