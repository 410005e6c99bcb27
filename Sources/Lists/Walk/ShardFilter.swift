import Base

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
    let (state, hash, isOwn) = find(row, file, source, assembler)
    list.add(hash)
    if isOwn { ownCount += 1 } else if state != .filtered { othersHaveEntries = true }
    return (state, isOwn)
  }

  private mutating func find(
    _ row: Row,
    _ file: Int,
    _ source: ListFile,
    _ assembler: EntryAssembler
  ) -> (state: BatchEntry.State, hash: UInt64, isOwn: Bool) {
    if let parts = assembler.partsOfGoodEntry(row, manifest: source.manifest) {
      let hash = Shard.hash(row.url)
      return (.good, hash, shard?.owns(url: row.url, parts: parts, hash: hash) ?? true)
    }
    scratch.removeAll()
    let state = assembler.append(row, priority: .normal, file: file, manifest: source.manifest, base: source.base, to: &scratch)
    if case .invalid = state {
      let hash = Shard.hash(line: row.line, ofManifest: source.name)
      return (state, hash, shard?.owns(hash) ?? true)
    }
    let entry = scratch.entries[0]
    return scratch.bytes.withUnsafeBytes { bytes in
      let url = UnsafeRawBufferPointer(rebasing: bytes[entry.requestRange])
      let hash = Shard.hash(url)
      return (state, hash, shard?.owns(url: url, parts: entry.parts, hash: hash) ?? true)
    }
  }

  /// The estimated number of the shard's rows among `all` rows.
  func expected(of all: Int) -> Int {
    guard let shard else { return all }
    guard list.entries > 0 else { return all / shard.count }
    return Int(Double(all) * Double(ownCount) / Double(list.entries))
  }
}
