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
