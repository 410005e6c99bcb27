/// The checksum at the end of each PNG chunk (RFC 2083, section 15).
enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ (value >> 1) : value >> 1 }
  }

  static func of(_ bytes: some Sequence<UInt8>) -> UInt32 {
    ~bytes.reduce(~0) { sum, byte in table[Int((sum ^ UInt32(byte)) & 0xff)] ^ (sum >> 8) }
  }
}
