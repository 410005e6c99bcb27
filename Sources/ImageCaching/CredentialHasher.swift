import CCrypto

/// Turns credentials into something that an identity may keep: a hash under a key that never leaves the cache's folder.
///
/// Two runs over one cache hash alike, and whoever sees an identity learns nothing about the credentials in it.
public struct CredentialHasher: Sendable {
  /// Bytes of a key that is made here.
  static let keyByteCount = 32
  /// Bytes of the hash that are kept; twice as many digits.
  private static let digestByteCount = 16

  private let key: [UInt8]

  /// A hasher under `key`, which may have any length.
  public init(key: [UInt8]) { self.key = key }

  /// A hasher under a key that nobody else has: for runs without a cache.
  public static func random() -> CredentialHasher { CredentialHasher(key: randomKey()) }

  /// 32 bytes from the system's random number generator.
  static func randomKey() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    var key: [UInt8] = []
    while key.count < keyByteCount { withUnsafeBytes(of: generator.next()) { key += $0 } }
    return key
  }

  /// Whether both hash alike.
  func hasSameKey(as other: CredentialHasher) -> Bool { key == other.key }

  /// HMAC-SHA-256 of `bytes` (RFC 2104), cut to 128 bits: 32 hexadecimal digits in lower case.
  public func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var full = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    let message = bytes.bindMemory(to: UInt8.self)
    let result = HMAC(EVP_sha256(), key, Int32(key.count), message.baseAddress, message.count, &full, nil)
    // It fails only where libcrypto has no SHA-256 or no memory; an identity without its credentials would mix users up.
    guard result != nil else { fatalError("libcrypto cannot compute HMAC-SHA-256") }
    return full.prefix(Self.digestByteCount).flatMap { [hexadecimalDigit($0 >> 4), hexadecimalDigit($0 & 15)] }
  }
}

/// The ASCII digit of a number below 16, in lower case.
func hexadecimalDigit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }
