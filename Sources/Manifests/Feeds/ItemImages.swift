import CXXHash

/// The images of one item so far, by their URLs as written.
struct ItemImages {
  private var hashes: Set<UInt64> = []
  // Hashes can't be chosen to collide.
  private let seed = UInt64.random(in: .min ... .max)

  /// Adds an image; returns whether it is new.
  mutating func insert(_ url: UnsafeRawBufferPointer) -> Bool {
    hashes.insert(XXH3_64bits_withSeed(url.baseAddress, url.count, seed)).inserted
  }

  mutating func removeAll() { hashes.removeAll(keepingCapacity: true) }
}
