import Base

/// Builds PNG files of grey pixels, chunk by chunk, so that any of them can be wrong.
struct PNGBuilder {
  static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  static let end = chunk("IEND", [])

  var width: Int
  var height: Int
  /// Complete chunks before IDAT.
  var before: [UInt8] = []

  /// IHDR of 8 bits grey.
  var header: [UInt8] { Self.chunk("IHDR", Self.number(width) + Self.number(height) + [8, 0, 0, 0, 0]) }

  /// A file whose pixels have one grey; `behind` are complete chunks between IDAT and IEND.
  func file(grey: UInt8 = 0, behind: [UInt8] = []) -> [UInt8] {
    Self.signature + header + before + Self.chunk("IDAT", Self.rows(width, height, [grey])) + behind + Self.end
  }

  /// A zlib stream of unfiltered rows with identical pixels.
  static func rows(_ width: Int, _ height: Int, _ pixel: [UInt8]) -> [UInt8] {
    stored(Array(repeatElement([0] + Array(repeatElement(pixel, count: width).joined()), count: height).joined()))
  }

  static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
    let body = Array(name.utf8) + data
    return number(data.count) + body + number(Int(checksum(body)))
  }

  static func number(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(truncatingIfNeeded: value).bigEndian, Array.init) }

  /// A zlib stream (RFC 1950) of stored blocks (RFC 1951, section 3.2.4).
  static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(65_535)
      rest = rest.dropFirst(65_535)
      let count = UInt16(block.count)
      stream += [rest.isEmpty ? 1 : 0, UInt8(count & 0xFF), UInt8(count >> 8), UInt8(~count & 0xFF), UInt8(~count >> 8)]
      stream += block
    } while !rest.isEmpty
    var (low, high) = (1, 0)
    for byte in bytes {
      low = (low + Int(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return stream + number(high << 16 | low)
  }

  /// A zlib stream with `count` codes of 13 bits that each decompress to 258 zeros: one literal, then matches of the maximum length
  /// (RFC 1951, section 3.2.6).
  static func bomb(_ count: Int) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    var (bits, filled) = (UInt32(0), UInt32(0))
    func put(_ code: UInt32, _ length: UInt32) {
      bits |= code << filled
      filled += length
      while filled >= 8 {
        stream.append(UInt8(bits & 0xFF))
        bits >>= 8
        filled -= 8
      }
    }
    put(0b011, 3)  // the last block, of fixed codes
    put(0b0000_1100, 8)  // literal 0, its code's first bit lowest
    for _ in 0..<count { put(0b0_0000_1010_0011, 13) }  // length 258 (code 285), distance 1
    put(0, 7)
    put(0, 7)
    return stream + [0, 0, 0, 0]
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { sum, _ in sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
  }

  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { sum, byte in table[Int((sum ^ UInt32(byte)) & 0xFF)] ^ (sum >> 8) }
  }
}
