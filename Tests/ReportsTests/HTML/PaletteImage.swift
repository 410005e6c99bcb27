/// Small, visibly different pictures of sixteen colours: PNG with its pixels in one stored block (RFC 1951, 3.2.4).
enum PaletteImage {
  /// A hill before a sky, in colours of that number; at most 65,535 bytes of pixels.
  static func png(_ number: Int, width: Int = 120, height: Int = 90) -> [UInt8] {
    var rows: [UInt8] = []
    for y in 0..<height {
      rows.append(0)
      for x in stride(from: 0, to: width, by: 2) {
        rows.append(color(number, x, y, width, height) << 4 | color(number, x + 1, y, width, height))
      }
    }
    let count = UInt16(rows.count)
    let header: [UInt8] = [0x78, 0x01, 0x01, UInt8(count & 0xff), UInt8(count >> 8), UInt8(~count & 0xff), UInt8(~count >> 8)]
    return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
      + chunk("IHDR", bytes(UInt32(width)) + bytes(UInt32(height)) + [4, 3, 0, 0, 0])
      + chunk("PLTE", palette(number)) + chunk("IDAT", header + rows + bytes(adler(rows))) + chunk("IEND", [])
  }

  private static func color(_ number: Int, _ x: Int, _ y: Int, _ width: Int, _ height: Int) -> UInt8 {
    let peak = width * (number % 7 + 2) / 10
    let hill = height / 3 + abs(x - peak) * height / width
    return y > hill ? UInt8(min(8 + (y - hill) * 8 / height, 15)) : UInt8(y * 8 / height)
  }

  private static func palette(_ number: Int) -> [UInt8] {
    (0..<16).flatMap { index -> [UInt8] in
      let hue = (number * 47 + (index < 8 ? 0 : 110)) % 256
      let light = index < 8 ? 170 + index * 10 : 150 - (index - 8) * 12
      return [0, 85, 170].map { UInt8(max(0, min(255, light + (abs((hue + $0) % 256 - 128) - 64) * 2 / 3))) }
    }
  }

  private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + data
    return bytes(UInt32(data.count)) + body + bytes(crc(body))
  }

  private static func bytes(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian, Array.init) }

  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ (value >> 1) : value >> 1 }
    }
  }

  private static func adler(_ bytes: [UInt8]) -> UInt32 {
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return high << 16 | low
  }
}
