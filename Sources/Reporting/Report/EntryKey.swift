internal import CXXHash

/// What an entry is recognised by from run to run: a hash of its URL, as reports show it, and of its variant and edge.
///
/// XXH3 with 128 bits and seed 0, so that every run on every machine comes to the same.
public struct EntryKey: Sendable, Hashable {
  /// The upper half.
  public let high: UInt64
  /// The lower half.
  public let low: UInt64

  /// A key of those halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The key of an entry whose row shows `url`.
  public init(url: UnsafeRawBufferPointer, variant: ReportedVariant = ReportedVariant(name: nil, edge: nil)) {
    let hash: XXH128_hash_t
    if variant.name == nil, variant.edge == nil {
      hash = XXH3_128bits(url.baseAddress, url.count)
    } else {
      // A URL holds no line feed, so the parts cannot run into each other.
      let names = "\n\(variant.name ?? "")\n\(variant.edge ?? "")"
      hash = (Array(url) + names.utf8).withUnsafeBytes { XXH3_128bits($0.baseAddress, $0.count) }
    }
    high = hash.high64
    low = hash.low64
  }
}
