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

  /// The key of an entry whose row shows `url`; what is not UTF-8 counts as the U+FFFD that the row has for it.
  public init(url: UnsafeRawBufferPointer, variant: ReportedVariant = ReportedVariant(name: nil, edge: nil)) {
    if variant.name == nil, variant.edge == nil, url.allSatisfy({ $0 < 0x80 }) {
      self.init(hashing: url)
      return
    }
    var text = String(decoding: url, as: UTF8.self)
    // A URL holds no line feed, so the parts cannot run into each other.
    if variant.name != nil || variant.edge != nil { text += "\n\(variant.name ?? "")\n\(variant.edge ?? "")" }
    self = text.withUTF8 { EntryKey(hashing: UnsafeRawBufferPointer($0)) }
  }

  private init(hashing bytes: UnsafeRawBufferPointer) {
    let hash = XXH3_128bits(bytes.baseAddress, bytes.count)
    self.init(high: hash.high64, low: hash.low64)
  }
}
