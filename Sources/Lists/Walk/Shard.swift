import CXXHash
package import Base

/// One of several runs that share the entries of a job: each entry belongs to exactly one shard.
///
/// The shard depends on the entry alone, by rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to
/// increase hit rates", 1998): each shard has a weight for an entry, and the greatest weight wins. So all machines
/// agree without communication, and if a shard is added, only about 1 in `count` entries move, all to the new shard.
///
/// To compute it elsewhere, let `h` be the 64-bit XXH3 hash with seed 0 of the entry's key:
///
/// - its URL in normal form, or with ``Rule/host`` the URL's host, with the port if it isn't the default of the scheme:
///   `a.example:8080`;
/// - if the entry isn't a valid URL, the list's name in reports (of an absolute path, the part after the last
///   slash), a colon and the line: `urls/hero.txt:17`.
///
/// The weight of shard `i`, counted from 1, is `mix(h + i × 0x9E3779B97F4A7C15)`. `mix` is the output function of
/// SplitMix64 (Steele, Lea and Flood, 2014), all modulo 2⁶⁴:
///
///     x ^= x >> 30;  x *= 0xBF58476D1CE4E5B9;  x ^= x >> 27;  x *= 0x94D049BB133111EB;  x ^= x >> 31
///
/// Both steps are bijective, so that two shards never have the same weight.
package struct Shard: Sendable, Hashable {
  /// The maximum number of shards of a job.
  package static let maximumCount = 65_536

  /// The key of an entry.
  package enum Rule: String, Sendable, CaseIterable {
    /// Its URL: shards have about the same size, and several of them may request the same host.
    case url
    /// Its host and port: all entries of a host belong to the same shard.
    case host
  }

  /// Its index, from 1.
  package let index: Int
  package let count: Int
  /// The key of entries.
  package let rule: Rule

  /// Traps if `index` isn't in `1...count`, or `count` exceeds ``maximumCount``.
  package init(index: Int, count: Int, by rule: Rule) {
    trap(unless: (1...Self.maximumCount).contains(count) && (1...count).contains(index), "no shard is \(index) of \(count)")
    self.index = index
    self.count = count
    self.rule = rule
  }

  /// Whether an entry with that URL in normal form belongs to it; `hash` is that of the URL.
  @inline(__always)
  func owns(url: UnsafeRawBufferPointer, parts: URLParts, hash: UInt64) -> Bool {
    owns(self.hash(url: url, parts: parts, ofURL: hash))
  }

  /// The hash of the entry's key; `hash` is that of its URL in normal form.
  @inline(__always)
  private func hash(url: UnsafeRawBufferPointer, parts: URLParts, ofURL hash: UInt64) -> UInt64 {
    switch rule {
    case .url: hash
    case .host: Self.hash(UnsafeRawBufferPointer(rebasing: url[parts.hostAndPort]))
    }
  }

  /// Returns the shard to which an entry with that URL belongs.
  package func holder(of url: BaseURL) -> Shard {
    let hash = url.bytes.withUnsafeBytes { self.hash(url: $0, parts: url.parts, ofURL: Self.hash($0)) }
    let heaviest = (1...count).max { Self.mix(hash, $0) < Self.mix(hash, $1) }
    return Shard(index: heaviest ?? index, count: count, by: rule)
  }

  /// Whether an entry whose key has that hash belongs to it.
  ///
  /// Stops at the first shard that weighs more, on average after about ln N steps unless the entry belongs to it.
  @inline(__always)
  func owns(_ hash: UInt64) -> Bool {
    let own = Self.mix(hash, index)
    for other in 1...count where Self.mix(hash, other) > own { return false }
    return true
  }

  @inline(__always)
  static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 { XXH3_64bits(bytes.baseAddress, bytes.count) }

  /// The hash of a line that isn't a valid URL.
  static func hash(line: UInt64, ofManifest name: String) -> UInt64 {
    let shared = name.hasPrefix("/") ? name[name.index(after: name.lastIndex(of: "/") ?? name.startIndex)...] : name[...]
    var text = "\(shared):\(line)"
    return text.withUTF8 { hash(UnsafeRawBufferPointer($0)) }
  }

  /// `mix(hash + index × 0x9E3779B97F4A7C15)`: the weight of a shard.
  @inline(__always)
  static func mix(_ hash: UInt64, _ index: Int) -> UInt64 {
    var mixed = hash &+ UInt64(truncatingIfNeeded: index) &* 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

/// Shows whether two shards have read the same lists: the number of entries of all shards, and a sum over them.
///
/// Valid entries, entries skipped by `include` and `exclude`, and bad lines all count, each time they occur; entries
/// beyond a `limit` don't. The sum is that of `mix(h)` over all of them, modulo 2⁶⁴, in any order. `h` is the hash of
/// the entry's URL in normal form, or of its list's name and line if it isn't a valid URL; `mix` is defined at
/// ``Shard``. The URLs count even if shards are divided by host.
package struct ListFingerprint: Sendable, Hashable {
  /// The number of entries of all shards.
  package private(set) var entries: UInt64 = 0
  /// The sum; for different entries it is equal with a probability of 1 in 2⁶⁴.
  package private(set) var sum: UInt64 = 0

  /// Creates the fingerprint of no entries.
  init() {}

  /// Creates a fingerprint that was computed before.
  package init(entries: UInt64, sum: UInt64) { (self.entries, self.sum) = (entries, sum) }

  /// Counts an entry with that hash. The hash is mixed and added, since two copies of one entry would cancel out under
  /// exclusive or.
  @inline(__always)
  mutating func add(_ hash: UInt64) {
    entries += 1
    sum &+= Shard.mix(hash, 0)
  }
}

/// Divides rows into those of one shard and those of others; without a shard, all rows are its own.
struct ShardFilter {
  private let shard: Shard?
  /// The fingerprint of all shards' entries so far.
  private(set) var list = ListFingerprint()
  private var ownCount = 0
  /// Whether an entry of another shard passes `include` and `exclude`.
  private(set) var othersHaveEntries = false
  /// Space for turning a row into an entry to examine it.
  private var scratch = EntryBatch()

  init(_ shard: Shard?) { self.shard = shard }

  /// Whether rows may belong to other shards.
  var isDivided: Bool { shard != nil }

  /// Counts a row, and returns whether it is valid and belongs to the shard.
  mutating func judge(
    _ row: Row,
    _ file: Int,
    _ source: ListFile,
    _ assembler: EntryAssembler
  ) -> (state: BatchEntry.State, isOwn: Bool) {
    var state = BatchEntry.State.good
    let (hash, isOwn): (UInt64, Bool)
    if let parts = assembler.partsOfGoodEntry(row, list: source.list) {
      (hash, isOwn) = owner(of: row.url, parts)
    } else {
      scratch.removeAll()
      state = assembler.append(row, priority: .normal, file: file, list: source.list, base: source.base, to: &scratch)
      let entry = scratch.entries[0]
      if case .invalid = state {
        hash = Shard.hash(line: row.line, ofManifest: source.name)
        isOwn = shard?.owns(hash) ?? true
      } else {
        (hash, isOwn) = scratch.bytes.withUnsafeBytes {
          owner(of: UnsafeRawBufferPointer(rebasing: $0[entry.requestRange]), entry.parts)
        }
      }
    }
    list.add(hash)
    if isOwn { ownCount += 1 } else if state != .filtered { othersHaveEntries = true }
    return (state, isOwn)
  }

  private func owner(of url: UnsafeRawBufferPointer, _ parts: URLParts) -> (hash: UInt64, isOwn: Bool) {
    let hash = Shard.hash(url)
    return (hash, shard?.owns(url: url, parts: parts, hash: hash) ?? true)
  }

  /// The estimated number of the shard's rows among `all` rows.
  func expected(of all: Int) -> Int {
    guard let shard else { return all }
    guard list.entries > 0 else { return all / shard.count }
    return Int(Double(all) * Double(ownCount) / Double(list.entries))
  }
}
