import CXXHash
public import ImagePrimitives

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
