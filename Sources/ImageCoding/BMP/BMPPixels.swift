import Base

/// Converts the rows of a bitmap to RGBA. The file must have all pixels; see ``BMPHeader/checkPixels(in:)``.
struct BMPPixels {
  private let header: BMPHeader
  private let file: UnsafeRawBufferPointer
  /// As RGBA in memory order, the palette's 256 colours; or, for each of red, green, blue and alpha, 256 values by the upper 8 bits of the
  /// pixel's.
  private var table: [UInt32]
  /// For each of red, green, blue and alpha, the position of its upper 8 bits in a pixel, and as many ones as it has bits of these.
  private var shifts = SIMD4<UInt32>.zero
  private var ones = SIMD4<UInt32>.zero
  /// Whether three bytes of a pixel are blue, green and red, which needs no table.
  private let isBGR: Bool
  private var runs: BMPRuns?
  /// A row of indices of run-length codes.
  private var indices: [UInt8] = []

  private static let rowsBetweenChecks = 64

  init(_ header: BMPHeader, _ file: UnsafeRawBufferPointer) {
    self.header = header
    self.file = file
    isBGR = header.bits == 24 && header.masks == SIMD4(0xFF_0000, 0xFF00, 0xFF, 0)
    table = []
    if header.bits > 8 { readMasks() } else { readPalette(ByteView(file)) }
    guard header.hasRuns else { return }
    runs = BMPRuns(header, file)
    indices = Array(repeating: 0, count: header.size.width)
  }

  private mutating func readMasks() {
    for channel in 0..<4 {
      let mask = header.masks[channel]
      let width = mask.nonzeroBitCount
      shifts[channel] = mask == 0 ? 0 : UInt32(mask.trailingZeroBitCount + max(0, width - 8))
      ones[channel] = (1 << UInt32(min(8, width))) - 1
      let largest = max(1, ones[channel])
      for value in 0..<UInt32(256) {
        // Without a mask, a colour is 0, and alpha is opaque.
        let scaled = mask == 0 ? (channel == 3 ? 255 : 0) : (min(value, largest) * 255 + largest / 2) / largest
        table.append((scaled << UInt32(channel * 8)).littleEndian)
      }
    }
  }

  /// Colours that a shorter palette lacks are black, as in browsers.
  private mutating func readPalette(_ bytes: ByteView) {
    table = Array(repeating: UInt32(0xFF00_0000).littleEndian, count: 256)
    for index in 0..<min(256, header.palette.colors) {
      guard let color = bytes.littleEndian24(at: header.palette.offset + index * header.palette.length) else { break }
      table[index] = Self.pixel(blueGreenRed: UInt32(color))
    }
  }

  private static func pixel(blueGreenRed color: UInt32) -> UInt32 { (color.byteSwapped >> 8 | 0xFF00_0000).littleEndian }

  var warnings: [String] { runs?.warnings ?? [] }

  /// All rows in the size `target`: the bitmap's own, or a smaller one to which rows are reduced in the order in which they are
  /// stored.
  mutating func pixels(of target: ImageSize, deadline: DecodingDeadline) throws(ImageError) -> PixelBuffer {
    let size = header.size
    let length = size.width * 4
    guard target == size else {
      let reduced = try PixelBuffer(size: size, reducedTo: target) { index, row throws(ImageError) in
        try readRow(index, into: row, deadline)
      }
      // Orientation 4 exchanges top and bottom.
      return header.isTopDown ? reduced : reduced.upright(orientation: 4)
    }
    return try PixelBuffer(size: size) { pixels throws(ImageError) in
      for index in 0..<size.height {
        let y = header.isTopDown ? index : size.height - 1 - index
        let row = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(pixels)[y * length..<(y + 1) * length])
        try readRow(index, into: row, deadline)
      }
    }
  }

  /// The memory for ``pixels(of:deadline:)``, in bytes.
  static func memory(_ header: BMPHeader, _ target: ImageSize) -> Int {
    let rows = header.size.width * 5 + 16 << 10
    return target == header.size ? target.pixels * 4 + rows : target.pixels * 8 + RowScaler.bytes(to: target) + rows
  }

  private mutating func readRow(
    _ index: Int,
    into row: UnsafeMutableRawBufferPointer,
    _ deadline: DecodingDeadline
  ) throws(ImageError) {
    if index % Self.rowsBetweenChecks == 0 { try deadline.check() }
    if runs != nil {
      try indices.withUnsafeMutableBufferPointer { indices throws(ImageError) in try runs?.readRow(index, into: indices) }
      indices.withUnsafeBytes { convert($0, bits: 8, to: row) }
    } else {
      let start = header.pixels + index * header.rowLength
      let stored = UnsafeRawBufferPointer(rebasing: file[start..<start + (header.size.width * header.bits + 7) / 8])
      convert(stored, bits: header.bits, to: row)
    }
  }

  /// Converts a row with `bits` per pixel.
  private func convert(_ stored: UnsafeRawBufferPointer, bits: Int, to row: UnsafeMutableRawBufferPointer) {
    let width = row.count / 4
    table.withUnsafeBufferPointer { table in
      guard bits > 8 else {
        let ones = UInt8(truncatingIfNeeded: 1 << bits - 1)
        for x in 0..<width {
          let index = stored[x * bits / 8] >> UInt8(8 - bits - x * bits % 8) & ones
          row.storeBytes(of: table[Int(index)], toByteOffset: x * 4, as: UInt32.self)
        }
        return
      }
      let length = bits / 8
      for x in 0..<width {
        var pixel = UInt32(stored[x * length]) | UInt32(stored[x * length + 1]) << 8
        if length > 2 { pixel |= UInt32(stored[x * length + 2]) << 16 }
        if length > 3 { pixel |= UInt32(stored[x * length + 3]) << 24 }
        var color = Self.pixel(blueGreenRed: pixel)
        if !isBGR {
          let parts = (SIMD4(repeating: pixel) &>> shifts) & ones
          color = table[Int(parts.x)] | table[256 + Int(parts.y)] | table[512 + Int(parts.z)] | table[768 + Int(parts.w)]
        }
        row.storeBytes(of: color, toByteOffset: x * 4, as: UInt32.self)
      }
    }
  }
}

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
