import Base

/// Corrects what every decoder checks first, so that mutations reach further code: a PNG's checksums and a RIFF's length.
enum Mending {
  static func mend(_ bytes: UnsafeMutableRawBufferPointer, as format: ImageFormat) {
    switch format {
    case .png: mendPNG(bytes)
    case .webp where bytes.count >= 12:
      bytes.storeBytes(of: UInt32(truncatingIfNeeded: bytes.count - 8).littleEndian, toByteOffset: 4, as: UInt32.self)
    default: break
    }
  }

  private static func mendPNG(_ bytes: UnsafeMutableRawBufferPointer) {
    var offset = 8
    while offset <= bytes.count - 12 {
      let length = Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
      guard length <= bytes.count - offset - 12 else { return }
      let sum = CRC32.of(UnsafeRawBufferPointer(rebasing: bytes[offset + 4..<offset + 8 + length]))
      bytes.storeBytes(of: sum.bigEndian, toByteOffset: offset + 8 + length, as: UInt32.self)
      offset += length + 12
    }
  }
}

/// The checksum of PNG's chunks (ISO/IEC 15948, annex D).
private enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { number in
    (0..<8).reduce(UInt32(number)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
  }

  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    ~bytes.reduce(UInt32.max) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
  }
}
