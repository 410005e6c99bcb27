import Base

/// A box of an ISO base media file (ISO/IEC 14496-12, section 4.2), as AVIF and HEIC are.
struct FileBox {
  /// The range of its content in the file.
  let body: Range<Int>
  /// Its four letters, such as `meta`.
  let type: String

  /// The four letters that a number has, the first in the highest byte.
  static func type(_ number: Int) -> String {
    String(String.UnicodeScalarView((0..<4).map { Unicode.Scalar(UInt8(truncatingIfNeeded: number >> (24 - 8 * $0))) }))
  }

  /// The letters as errors quote them; a number if they can't be printed.
  static func name(_ type: String) -> String {
    let letters = type.unicodeScalars.map { Int($0.value) }
    return letters.allSatisfy { (0x20..<0x7F).contains($0) } ? "'\(type)'" : "\(letters.reduce(0) { $0 << 8 | $1 })"
  }
}

extension ByteView {
  /// The box that starts at `offset` and ends within `range`; nil if there is none.
  func box(at offset: Int, within range: Range<Int>) -> FileBox? {
    guard let box = boxHeader(at: offset, within: range), box.body.upperBound <= range.upperBound else { return nil }
    return box
  }

  /// The box that starts at `offset`, even if it ends beyond `range`; nil if its size isn't a box's.
  func boxHeader(at offset: Int, within range: Range<Int>) -> FileBox? {
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
    guard length >= start - offset, start <= range.upperBound else { return nil }
    return FileBox(body: start..<offset + length, type: FileBox.type(type))
  }

  /// The content of the first box of that type in `range`.
  func firstBox(_ type: String, in range: Range<Int>) -> Range<Int>? {
    var offset = range.lowerBound
    while let box = box(at: offset, within: range) {
      if box.type == type { return box.body }
      offset = box.body.upperBound
    }
    return nil
  }
}

/// Limits on the boxes and tables of a file, which libraries look up one by one or allocate memory for.
struct BoxLimits {
  /// The format's name in errors.
  let format: String
  private var boxes = 0
  private var tableBytes = 0

  private static let maximumBoxes = 10_000
  /// Enough for 5,000 frames with alpha or a grid of 5,000 cells.
  private static let maximumTableBytes = 512 << 10

  init(format: String) { self.format = format }

  mutating func addBox() throws(ImageError) {
    boxes += 1
    guard boxes > Self.maximumBoxes else { return }
    throw .undecodable("the \(format) file has more than \(Self.maximumBoxes) boxes")
  }

  mutating func addTable(bytes: Int) throws(ImageError) {
    tableBytes += bytes
    guard tableBytes > Self.maximumTableBytes else { return }
    throw .undecodable("the \(format) file's tables of items and samples have more than \(Self.maximumTableBytes) bytes")
  }
}
