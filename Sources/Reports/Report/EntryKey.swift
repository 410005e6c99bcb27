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
    guard isUTF8(url) else {
      var text = String(decoding: url, as: UTF8.self)
      self = text.withUTF8 { EntryKey(shown: UnsafeRawBufferPointer($0), variant) }
      return
    }
    self.init(shown: url, variant)
  }

  /// Entries come by the million, so that nothing is allocated here.
  private init(shown url: UnsafeRawBufferPointer, _ variant: ReportedVariant) {
    guard variant.name != nil || variant.edge != nil else {
      self.init(hashing: url)
      return
    }
    let (name, edge) = ((variant.name ?? "").utf8, (variant.edge ?? "").utf8)
    self = withUnsafeTemporaryAllocation(byteCount: url.count + name.count + edge.count + 2, alignment: 1) { bytes in
      var end = 0
      func append(_ part: some Collection<UInt8>) {
        UnsafeMutableRawBufferPointer(rebasing: bytes[end...]).copyBytes(from: part)
        end += part.count
      }
      // A URL holds no line feed, so the parts cannot run into each other.
      append(url)
      append(CollectionOfOne(UInt8(ascii: "\n")))
      append(name)
      append(CollectionOfOne(UInt8(ascii: "\n")))
      append(edge)
      return EntryKey(hashing: UnsafeRawBufferPointer(bytes))
    }
  }

  private init(hashing bytes: UnsafeRawBufferPointer) {
    let hash = XXH3_128bits(bytes.baseAddress, bytes.count)
    self.init(high: hash.high64, low: hash.low64)
  }
}

private func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
  if bytes.allSatisfy({ $0 < 0x80 }) { return true }
  var position = 0
  while position < bytes.count {
    let (value, length) = decodeScalar(bytes, at: position)
    guard value != nil else { return false }
    position += length
  }
  return true
}
