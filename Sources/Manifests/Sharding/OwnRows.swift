import ImagePrimitives

/// What reading for one shard has met so far, and which rows of the last run are its own.
struct OwnRows {
  let shard: Shard
  /// The entries of all shards so far.
  private(set) var list = ListFingerprint()
  /// Whether there are no more of them.
  var hasReadAll = false
  /// Rows of this one.
  private(set) var ownCount = 0
  /// Whether another shard has an entry that is left after include and exclude.
  private(set) var othersHaveEntries = false
  /// The own ones of the last run.
  private(set) var run: [PlainRow] = []
  /// Where a row is made an entry, to be looked at.
  private var scratch = EntryBatch()

  init(_ shard: Shard) { self.shard = shard }

  /// Keeps the own rows of a run in ``run``, and returns how many of all of them are good.
  mutating func take(_ rows: [PlainRow], of file: Int, _ source: ManifestFile, _ assembler: EntryAssembler) -> Int {
    run.removeAll(keepingCapacity: true)
    var good = 0
    for row in rows {
      let (state, isOwn) = judge(row.row, file, source, assembler)
      if state == .good { good += 1 }
      if isOwn { run.append(row) }
    }
    return good
  }

  /// What became of a row, and whether it is the shard's own.
  mutating func judge(
    _ row: Row,
    _ file: Int,
    _ source: ManifestFile,
    _ assembler: EntryAssembler
  ) -> (state: ManifestEntry.State, isOwn: Bool) {
    let (state, hash, isOwn) = find(row, file, source, assembler)
    list.add(hash)
    if isOwn { ownCount += 1 } else if state != .filtered { othersHaveEntries = true }
    return (state, isOwn)
  }

  private mutating func find(
    _ row: Row,
    _ file: Int,
    _ source: ManifestFile,
    _ assembler: EntryAssembler
  ) -> (state: ManifestEntry.State, hash: UInt64, isOwn: Bool) {
    if let parts = assembler.partsOfGoodEntry(row, manifest: source.manifest) {
      let hash = Shard.hash(row.url)
      return (.good, hash, shard.owns(url: row.url, parts: parts, hash: hash))
    }
    scratch.removeAll()
    let state = assembler.append(row, priority: .normal, file: file, manifest: source.manifest, base: source.base, to: &scratch)
    if case .invalid = state {
      let hash = Shard.hash(line: row.line, ofManifest: source.name)
      return (state, hash, shard.owns(hash))
    }
    let entry = scratch.entries[0]
    return scratch.bytes.withUnsafeBytes { bytes in
      let url = UnsafeRawBufferPointer(rebasing: bytes[entry.normalized])
      let hash = Shard.hash(url)
      return (state, hash, shard.owns(url: url, parts: entry.parts, hash: hash))
    }
  }

  /// How many rows are likely to be its own, of so many of all shards.
  func expected(of all: Int) -> Int {
    guard list.entries > 0 else { return all / shard.count }
    return Int(Double(all) * Double(ownCount) / Double(list.entries))
  }
}
