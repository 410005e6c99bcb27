internal import CXXHash
package import Base

/// The identity of an entry across runs: a hash of its URL, as reports show it, and of its variant and edge.
///
/// XXH3 with 128 bits and seed 0, so that all machines compute the same. URLs come from outside and anyone can compute their keys, so a
/// table of keys must hash them again, with a secret of the process, as a dictionary does.
public struct EntryKey: Sendable, Hashable {
  let high: UInt64
  let low: UInt64
}

extension EntryKey {
  /// The key of an entry whose row shows `url`; bytes that aren't UTF-8 count as the U+FFFD that the row has for them.
  init(url: UnsafeRawBufferPointer, variant: RequestVariant = .plain) {
    guard isUTF8(url) else {
      var text = String(decoding: url, as: UTF8.self)
      self = text.withUTF8 { EntryKey(shown: UnsafeRawBufferPointer($0), variant) }
      return
    }
    self.init(shown: url, variant)
  }

  /// There may be millions of entries, so this doesn't allocate.
  private init(shown url: UnsafeRawBufferPointer, _ variant: RequestVariant) {
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
      // A URL contains no line feed, so the parts stay distinct.
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
  do { _ = try UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span) } catch { return false }
  return true
}
