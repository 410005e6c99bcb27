internal import CXXHash
package import Base

/// The identity of an entry across runs: a hash of its URL, as reports show it, and of its variant and edge.
///
/// XXH3 with 128 bits and seed 0, so that all machines compute the same.
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

/// Values by the keys of entries, in contiguous memory.
///
/// A slot takes 16 bytes and those of the value; between 3/8 and 3/4 of the slots are used. URLs come from outside and anyone can
/// compute their keys, so indices depend on a secret of the process: chosen collisions must not slow down a run.
struct EntryTable<Value: BitwiseCopyable & Sendable> {
  /// The key of a free slot is zero.
  private struct Slot: ProbedSlot {
    var high: UInt64 = 0
    var low: UInt64 = 0
    var value: Value
    var isFree: Bool { high == 0 && low == 0 }
  }

  private var slots: ProbedTable<Slot>
  private let filler: Value
  private let seeds = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

  /// An empty table; `filler` is the value of keys without one.
  init(filler: Value) {
    self.filler = filler
    slots = ProbedTable(free: Slot(value: filler))
  }

  var count: Int { slots.used }

  /// Returns the index of a key; nil if the table doesn't have it. Valid until a key is added.
  func index(of key: EntryKey) -> Int? {
    let index = search(key)
    return slots[index].isFree ? nil : index
  }

  /// Returns the index of a key, which is added with the filler as its value if it is missing.
  mutating func indexAdding(_ key: EntryKey) -> (index: Int, isNew: Bool) {
    let index = search(key)
    guard slots[index].isFree else { return (index, false) }
    let (high, low) = Self.stored(key)
    let seeds = seeds
    let added = slots.insert(Slot(high: high, low: low, value: filler), at: index) { Self.hash($0.high, $0.low, seeds) }
    return (added!, true)
  }

  subscript(index: Int) -> Value {
    get { slots[index].value }
    set { slots[index].value = newValue }
  }

  /// Calls `body` with every key and its value, in undefined order.
  func forEach(_ body: (EntryKey, Value) -> Void) {
    for slot in slots.slots where !slot.isFree { body(EntryKey(high: slot.high, low: slot.low), slot.value) }
  }

  private func search(_ key: EntryKey) -> Int {
    let (high, low) = Self.stored(key)
    return slots.index(hash: Self.hash(high, low, seeds)) { $0.high == high && $0.low == low }
  }

  /// Mixes both halves of the product, after a secret was mixed into each factor (as in wyhash).
  private static func hash(_ high: UInt64, _ low: UInt64, _ seeds: (UInt64, UInt64)) -> UInt64 {
    let product = (high ^ seeds.0).multipliedFullWidth(by: low ^ seeds.1)
    return product.high ^ product.low
  }

  private static func stored(_ key: EntryKey) -> (UInt64, UInt64) { key.high == 0 && key.low == 0 ? (0, 1) : (key.high, key.low) }
}
