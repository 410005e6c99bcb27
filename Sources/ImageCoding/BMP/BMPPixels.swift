import Base

/// Converts the rows of a bitmap to RGBA. The file must have all pixels; see ``BMPHeader/checkPixels(in:)``.
struct BMPPixels {
  private let header: BMPHeader
  private let file: UnsafeRawBufferPointer
  private let colors: BMPColors
  private var runs: BMPRuns?
  /// A row of indices of run-length codes.
  private var indices: [UInt8] = []

  init(_ header: BMPHeader, _ file: UnsafeRawBufferPointer) {
    self.header = header
    self.file = file
    colors = BMPColors(header, file)
    guard header.coding == .runs else { return }
    runs = BMPRuns(header, file)
    indices = Array(repeating: 0, count: header.size.width)
  }

  var warnings: [String] { runs?.warnings ?? [] }

  /// All rows in the size `target`: the bitmap's own, or a smaller one to which rows are reduced in the order in which they are
  /// stored.
  mutating func pixels(of target: ImageSize, deadline: DecodingDeadline) throws(ImageError) -> PixelBuffer {
    let size = header.size
    let length = size.width * 4
    guard target != size else {
      return try PixelBuffer(size: size) { pixels throws(ImageError) in
        for index in 0..<size.height {
          let y = header.isTopDown ? index : size.height - 1 - index
          let row = UnsafeMutableBufferPointer(rebasing: pixels[y * length..<(y + 1) * length])
          try readRow(index, into: UnsafeMutableRawBufferPointer(row), deadline)
        }
      }
    }
    let reduced = try PixelBuffer(size: target) { pixels throws(ImageError) in
      var scaler = RowScaler(from: size, to: target)
      let row = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)
      defer { row.deallocate() }
      for index in 0..<size.height {
        try readRow(index, into: row, deadline)
        scaler.append(UnsafeRawBufferPointer(row), into: pixels)
      }
    }
    // Orientation 4 exchanges top and bottom.
    return header.isTopDown ? reduced : reduced.upright(orientation: 4)
  }

  /// The memory for ``pixels(of:deadline:)``, in bytes.
  static func memory(_ header: BMPHeader, _ target: ImageSize) -> Int {
    let rows = header.size.width * 5 + 16 << 10
    guard target != header.size else { return target.pixels * 4 + rows }
    return target.pixels * 8 + target.width * MemoryLayout<SIMD4<Double>>.stride + rows
  }

  private mutating func readRow(
    _ index: Int,
    into row: UnsafeMutableRawBufferPointer,
    _ deadline: DecodingDeadline
  ) throws(ImageError) {
    if index % Self.rowsBetweenChecks == 0 { try deadline.check() }
    guard runs != nil else {
      let start = header.pixels + index * header.rowLength
      let stored = UnsafeRawBufferPointer(rebasing: file[start..<start + (header.size.width * header.bits + 7) / 8])
      return colors.convert(stored, bits: header.bits, to: row)
    }
    try indices.withUnsafeMutableBufferPointer { indices throws(ImageError) in try runs?.readRow(index, into: indices) }
    indices.withUnsafeBytes { colors.convert($0, bits: 8, to: row) }
  }

  private static let rowsBetweenChecks = 64
}

/// The colours of a bitmap as RGBA in memory order.
private struct BMPColors {
  /// The palette's 256 colours; or, for each of red, green, blue and alpha, 256 values by the upper 8 bits of the pixel's.
  private let table: [UInt32]
  /// For each of red, green, blue and alpha, the position of its upper 8 bits in a pixel, and as many ones as it has bits of these.
  private let shifts: SIMD4<UInt32>
  private let ones: SIMD4<UInt32>
  /// Whether three bytes of a pixel are blue, green and red, which needs no table.
  private let isBGR: Bool

  init(_ header: BMPHeader, _ file: UnsafeRawBufferPointer) {
    var (shifts, ones) = (SIMD4<UInt32>.zero, SIMD4<UInt32>.zero)
    isBGR = header.bits == 24 && header.masks == SIMD4(0xFF_0000, 0xFF00, 0xFF, 0)
    guard header.bits > 8 else {
      table = Self.palette(header, ByteView(file))
      (self.shifts, self.ones) = (shifts, ones)
      return
    }
    var values: [UInt32] = []
    for channel in 0..<4 {
      let mask = header.masks[channel]
      let width = mask.nonzeroBitCount
      shifts[channel] = mask == 0 ? 0 : UInt32(mask.trailingZeroBitCount + max(0, width - 8))
      ones[channel] = (1 << UInt32(min(8, width))) - 1
      let largest = max(1, ones[channel])
      for value in 0..<UInt32(256) {
        // Without a mask, a colour is 0, and alpha is opaque.
        let scaled = mask == 0 ? (channel == 3 ? 255 : 0) : (min(value, largest) * 255 + largest / 2) / largest
        values.append((scaled << UInt32(channel * 8)).littleEndian)
      }
    }
    table = values
    (self.shifts, self.ones) = (shifts, ones)
  }

  /// Colours that a shorter palette lacks are black, as in browsers.
  private static func palette(_ header: BMPHeader, _ bytes: ByteView) -> [UInt32] {
    var colors = [UInt32](repeating: UInt32(0xFF00_0000).littleEndian, count: 256)
    for index in 0..<min(256, header.palette.colors) {
      let offset = header.palette.offset + index * header.palette.length
      guard let blue = bytes.byte(at: offset), let green = bytes.byte(at: offset + 1), let red = bytes.byte(at: offset + 2) else {
        break
      }
      colors[index] = (UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | 0xFF00_0000).littleEndian
    }
    return colors
  }

  /// Converts a row with `bits` per pixel.
  func convert(_ stored: UnsafeRawBufferPointer, bits: Int, to row: UnsafeMutableRawBufferPointer) {
    table.withUnsafeBufferPointer { table in
      let width = row.count / 4
      switch bits {
      case 8:
        for x in 0..<width { row.storeBytes(of: table[Int(stored[x])], toByteOffset: x * 4, as: UInt32.self) }
      case 16:
        convert(width, table, to: row) { x in
          UInt32(UInt16(littleEndian: stored.loadUnaligned(fromByteOffset: x * 2, as: UInt16.self)))
        }
      case 24 where isBGR:
        for x in 0..<width {
          let (blue, green, red) = (UInt32(stored[x * 3]), UInt32(stored[x * 3 + 1]), UInt32(stored[x * 3 + 2]))
          row.storeBytes(of: (red | green << 8 | blue << 16 | 0xFF00_0000).littleEndian, toByteOffset: x * 4, as: UInt32.self)
        }
      case 24:
        convert(width, table, to: row) { x in
          UInt32(stored[x * 3]) | UInt32(stored[x * 3 + 1]) << 8 | UInt32(stored[x * 3 + 2]) << 16
        }
      case 32:
        convert(width, table, to: row) { x in
          UInt32(littleEndian: stored.loadUnaligned(fromByteOffset: x * 4, as: UInt32.self))
        }
      default:
        let ones = UInt8(1 << bits - 1)
        for x in 0..<width {
          let index = stored[x * bits / 8] >> UInt8(8 - bits - x * bits % 8) & ones
          row.storeBytes(of: table[Int(index)], toByteOffset: x * 4, as: UInt32.self)
        }
      }
    }
  }

  @inline(__always)
  private func convert(
    _ width: Int,
    _ table: UnsafeBufferPointer<UInt32>,
    to row: UnsafeMutableRawBufferPointer,
    _ pixel: (Int) -> UInt32
  ) {
    for x in 0..<width {
      let parts = (SIMD4(repeating: pixel(x)) &>> shifts) & ones
      let color = table[Int(parts.x)] | table[256 + Int(parts.y)] | table[512 + Int(parts.z)] | table[768 + Int(parts.w)]
      row.storeBytes(of: color, toByteOffset: x * 4, as: UInt32.self)
    }
  }
}
