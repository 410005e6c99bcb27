import CCrypto
import CXXHash
public import ImagePrimitives

/// The name of an entry in the cache: the 128-bit XXH3 hash of its identity.
///
/// Every record keeps its identity, so a collision of two keys is a miss.
public struct CacheKey: Hashable, Sendable {
  /// The upper and the lower half of the hash.
  public let high: UInt64, low: UInt64

  /// How many bytes a key takes on disk.
  static let byteCount = 16

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The key of an identity, whose bytes are copied nowhere.
  public init(identity: UnsafeRawBufferPointer) {
    let hash = checksum(of: identity)
    self.init(high: hash.high, low: hash.low)
  }

  /// The key as it stands on disk; nil for bytes of another length.
  init?(stored: UnsafeRawBufferPointer) {
    guard stored.count == Self.byteCount else { return nil }
    self.init(high: stored.bigEndian(at: 0), low: stored.bigEndian(at: 8))
  }

  /// Calls `body` with the key as it stands on disk: both halves big-endian, so that the order of bytes is the order of keys.
  @inline(__always)
  func withStoredBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let halves = (high.bigEndian, low.bigEndian)
    return try withUnsafeBytes(of: halves, body)
  }

  /// The key as it stands on disk, to go on behind it.
  var storedBytes: [UInt8] { withStoredBytes { Array($0) } }
}

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

  /// A hasher with a random key, for runs without a cache.
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

/// The checksum of a body: 128 bits of XXH3 over all of its bytes.
public func checksum(of bytes: UnsafeRawBufferPointer) -> Checksum {
  let hash = XXH3_128bits(bytes.baseAddress, bytes.count)
  return Checksum(high: hash.high64, low: hash.low64)
}

/// The checksum of a body that arrives in parts.
struct ChecksumStream: ~Copyable {
  private let state: OpaquePointer

  init() {
    guard let state = XXH3_createState() else { fatalError("out of memory") }
    self.state = state
    XXH3_128bits_reset(state)
  }

  deinit { XXH3_freeState(state) }

  /// Takes the next part.
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    XXH3_128bits_update(state, bytes.baseAddress, bytes.count)
  }

  /// The checksum of all parts so far.
  var checksum: Checksum {
    let hash = XXH3_128bits_digest(state)
    return Checksum(high: hash.high64, low: hash.low64)
  }
}
