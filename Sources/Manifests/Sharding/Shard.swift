import CXXHash
import ImagePrimitives
public import ImageURLs

/// One of several runs that share the entries of a job: every entry belongs to exactly one of them.
///
/// Which one follows from the entry alone, by rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to increase
/// hit rates", 1998): each shard has a weight for an entry, and the greatest wins. So all machines agree without talking, and
/// where a shard is added, entries move only to that one, about 1 of `count`.
///
/// To be repeated by others: let `h` be XXH3 with 64 bits and seed 0 of what the entry goes by,
///
/// - its URL in normal form, or by ``Rule/host`` that URL's host and, where it is not the scheme's own, port: `a.example:8080`;
/// - where no URL can be made of it, the manifest's name as reports show it, of an absolute path the part behind the last slash, a
///   colon and the line: `urls/hero.txt:17`.
///
/// The weight of shard `i`, counted from 1, is `mix(h + i × 0x9E3779B97F4A7C15)`, where `mix` is what SplitMix64 does to its
/// counter (Steele, Lea and Flood, 2014), all modulo 2⁶⁴:
///
///     x ^= x >> 30;  x *= 0xBF58476D1CE4E5B9;  x ^= x >> 27;  x *= 0x94D049BB133111EB;  x ^= x >> 31
///
/// Both steps are one-to-one, so that no two shards have the same weight.
public struct Shard: Sendable, Hashable {
  /// The most shards that a job may be cut into.
  public static let maximumCount = 65_536

  /// What an entry goes by.
  public enum Rule: String, Sendable, CaseIterable {
    /// Its URL: shards are of one size, and many of them ask one host.
    case url
    /// Its host and port: all entries of a host are one shard's own.
    case host
  }

  /// Which of them it is, from 1.
  public let index: Int
  /// How many there are.
  public let count: Int
  /// What entries go by.
  public let rule: Rule

  /// One of `count` shards.
  ///
  /// An index that is none of `1...count`, and more than ``maximumCount`` shards, are programmer's errors and trap.
  public init(index: Int, count: Int, by rule: Rule) {
    trap(unless: (1...Self.maximumCount).contains(count) && (1...count).contains(index), "no shard is \(index) of \(count)")
    self.index = index
    self.count = count
    self.rule = rule
  }

  /// Whether an entry of that URL in normal form is its own; `hash` is that of the URL.
  @inline(__always)
  func owns(url: UnsafeRawBufferPointer, parts: URLParts, hash: UInt64) -> Bool {
    owns(self.hash(url: url, parts: parts, ofURL: hash))
  }

  /// The hash of what an entry goes by; `hash` is that of its URL in normal form.
  @inline(__always)
  private func hash(url: UnsafeRawBufferPointer, parts: URLParts, ofURL hash: UInt64) -> UInt64 {
    switch rule {
    case .url: hash
    case .host: Self.hash(UnsafeRawBufferPointer(rebasing: url[parts.hostAndPort]))
    }
  }

  /// The one of the shards that an entry of that URL is in.
  public func holder(of url: BaseURL) -> Shard {
    let hash = url.bytes.withUnsafeBytes { self.hash(url: $0, parts: url.parts, ofURL: Self.hash($0)) }
    let heaviest = (1...count).max { Self.mix(hash, $0) < Self.mix(hash, $1) }
    return Shard(index: heaviest ?? index, count: count, by: rule)
  }

  /// Whether what has that hash is its own.
  ///
  /// It ends with the first shard that weighs more, which is found after about ln N steps, unless the entry is its own.
  @inline(__always)
  func owns(_ hash: UInt64) -> Bool {
    let own = Self.mix(hash, index)
    for other in 1...count where Self.mix(hash, other) > own { return false }
    return true
  }

  @inline(__always)
  static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 { XXH3_64bits(bytes.baseAddress, bytes.count) }

  /// The hash of a line of which no URL can be made.
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

/// What tells whether two shards have read the same lists: how many entries all shards together have, and a sum over them.
///
/// Good entries, those left out by `include` and `exclude`, and bad lines count alike, each as often as it stands there; what is beyond
/// a `limit` does not. The sum is that of `mix(h)` over all of them, modulo 2⁶⁴, in whatever order they stand, where `h` is the hash of the
/// entry's URL in normal form, or of its manifest's name and line where no URL can be made of it, and `mix` as ``Shard`` says. It is
/// of the URLs also where shards are cut by host.
public struct ListFingerprint: Sendable, Hashable {
  /// How many entries all shards together have.
  public private(set) var entries: UInt64 = 0
  /// The sum, which is another one for other entries, but by a chance of 1 in 2⁶⁴.
  public private(set) var sum: UInt64 = 0

  /// That of no entry.
  init() {}

  /// Counts an entry with that hash. Mixed and added, since copies of one entry would cancel out by exclusive or.
  @inline(__always)
  mutating func add(_ hash: UInt64) {
    entries += 1
    sum &+= Shard.mix(hash, 0)
  }
}
