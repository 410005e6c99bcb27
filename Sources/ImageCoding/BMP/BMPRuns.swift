import Base

/// The run-length codes of a bitmap (Microsoft: Bitmap Compression, BI_RLE8 and BI_RLE4), read row by row.
///
/// Pixels that codes skip have the palette's first colour. Like Pillow, it doesn't require the code for the end of the bitmap, but
/// rejects one before the last row's end; it drops pixels beyond a row's end. Those up to the padding of uncompressed rows are usual.
struct BMPRuns {
  private let bytes: ByteView
  private let size: ImageSize
  private let bits: Int
  /// The pixels of a row with padding.
  private let paddedWidth: Int
  /// The offset of the next code.
  private var offset: Int
  /// The position of the next pixel, in rows as stored; `x` may be beyond the row.
  private var x = 0
  private var y = 0
  /// The first row, from 1, that a code exceeds; nil if none does.
  private var exceededRow: Int?

  /// The codes of a file, from its first.
  init(_ header: BMPHeader, _ file: UnsafeRawBufferPointer) {
    bytes = ByteView(file)
    size = header.size
    bits = header.bits
    paddedWidth = header.rowLength * 8 / header.bits
    offset = header.pixels
  }

  /// What is wrong with the codes so far, one sentence each.
  var warnings: [String] {
    exceededRow.map { ["the BMP file's run-length codes exceed row \($0) of \(size.height); the excess is dropped"] } ?? []
  }

  /// Reads row `index`, the one after the previous call's, and writes its indices to `row` if there is one.
  mutating func readRow(_ index: Int, into row: UnsafeMutableBufferPointer<UInt8>?) throws(ImageError) {
    row?.update(repeating: 0)
    while y == index {
      if x >= size.width, index == size.height - 1 { return }
      guard let count = bytes.byte(at: offset), let value = bytes.byte(at: offset + 1) else { throw truncated }
      offset += 2
      switch (count, value) {
      case (0, 0):
        x = 0
        y += 1
      case (0, 1):
        throw .undecodable("the BMP file's run-length codes end in row \(y + 1) of \(size.height), before its last pixel")
      case (0, 2):
        guard let right = bytes.byte(at: offset), let down = bytes.byte(at: offset + 1) else { throw truncated }
        offset += 2
        move(Int(right))
        y += Int(down)
      case (0, let count): try copy(Int(count), into: row)
      default: draw(Int(count), value, into: row)
      }
    }
  }

  private var truncated: ImageError {
    .undecodable("the BMP file is truncated: its run-length codes end in row \(y + 1) of \(size.height)")
  }

  private mutating func move(_ count: Int) {
    x += count
    if x > paddedWidth { exceededRow = exceededRow ?? y + 1 }
  }

  /// The number of the next `count` pixels that are in the row.
  private func visible(_ count: Int) -> Int { max(0, min(count, size.width - x)) }

  /// Repeats an index, or with 4 bits, two in turn.
  private mutating func draw(_ count: Int, _ value: UInt8, into row: UnsafeMutableBufferPointer<UInt8>?) {
    if let row {
      let (even, odd) = bits == 8 ? (value, value) : (value >> 4, value & 15)
      for index in 0..<visible(count) { row[x + index] = index & 1 == 0 ? even : odd }
    }
    move(count)
  }

  /// Copies indices, which are padded to two bytes.
  private mutating func copy(_ count: Int, into row: UnsafeMutableBufferPointer<UInt8>?) throws(ImageError) {
    let length = (count * bits + 7) / 8
    guard bytes.has(length, at: offset) else { throw truncated }
    if let row {
      for index in 0..<visible(count) {
        let byte = bytes.byte(at: offset + index * bits / 8) ?? 0
        row[x + index] = bits == 8 ? byte : index & 1 == 0 ? byte >> 4 : byte & 15
      }
    }
    move(count)
    offset += (length + 1) & ~1
  }
}
