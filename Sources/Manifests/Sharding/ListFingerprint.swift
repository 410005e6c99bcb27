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
