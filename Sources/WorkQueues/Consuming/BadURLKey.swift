import CXXHash
import RedisClient

/// What the blacklist that workers share knows a URL by: a hash of its bytes as they stand in the message, and the variant.
public struct BadURLKey: Sendable, Hashable {
  /// 32 hexadecimal digits (XXH3, 128 bits), a colon, and the variant.
  let field: [UInt8]

  /// The key of that URL, and of that variant of the job, from 0.
  public init(url: UnsafeRawBufferPointer, variant: Int) {
    let hash = XXH3_128bits(url.baseAddress, url.count)
    var field: [UInt8] = []
    for half in [hash.high64, hash.low64] {
      for shift in stride(from: 60, through: 0, by: -4) { field.append(Self.digits[Int(half >> UInt64(shift) & 15)]) }
    }
    field.append(UInt8(ascii: ":"))
    field += String(variant).utf8
    self.field = field
  }

  private static let digits = Array("0123456789abcdef".utf8)
}
