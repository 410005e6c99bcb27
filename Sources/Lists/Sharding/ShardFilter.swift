import Base

/// Divides rows into those of one shard and those of others.
struct ShardFilter {
  let shard: Shard
  /// The fingerprint of all shards' entries so far.
  private(set) var list = ListFingerprint()
  var hasReadAll = false
  private(set) var ownCount = 0
  /// Whether an entry of another shard passes `include` and `exclude`.
  private(set) var othersHaveEntries = false
  /// The shard's rows of the last run.
  private(set) var run: [PlainRow] = []
  /// Space for turning a row into an entry to examine it.
  private var scratch = EntryBatch()

  init(_ shard: Shard) { self.shard = shard }

  /// Keeps the shard's rows of a run in ``run``, and returns the number of valid rows of all shards.
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

  mutating func judge(
    _ row: Row,
    _ file: Int,
    _ source: ManifestFile,
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
    _ source: ManifestFile,
    _ assembler: EntryAssembler
  ) -> (state: BatchEntry.State, hash: UInt64, isOwn: Bool) {
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
      let url = UnsafeRawBufferPointer(rebasing: bytes[entry.requestRange])
      let hash = Shard.hash(url)
      return (state, hash, shard.owns(url: url, parts: entry.parts, hash: hash))
    }
  }

  /// The estimated number of the shard's rows among `all` rows.
  func expected(of all: Int) -> Int {
    guard list.entries > 0 else { return all / shard.count }
    return Int(Double(all) * Double(ownCount) / Double(list.entries))
  }
}

/// Reading for one shard: every row is read, since its URL decides the shard; rows of other shards are dropped at once.
extension ManifestReader {
  /// The maximum number of rows that are read before the caller gets a turn, whether or not any belongs to the shard.
  private static let sliceRows = 65_536

  /// Returns the shard's rows as they are read; see ``nextAvailable(_:maximum:)``.
  func streamOwn(into batch: inout EntryBatch, maximum: Int) throws(ManifestError) -> Status {
    let end = batch.entries.count + maximum
    var rowsLeft = Self.sliceRows
    while batch.entries.count < end, rowsLeft > 0 {
      if let file = takeOwnRun(maximum: end - batch.entries.count) {
        rowsLeft -= pass.run.count
        let priority = pass.manifests[pass.files[file].manifest].priority
        if let run = own?.run, !run.isEmpty { appendRun(run, priority: priority, file: file, to: &batch) }
        continue
      }
      switch try nextOwn() {
      case .row(let row, let priority, let file):
        count(append(row, priority: priority, file: file, to: &batch), file: file)
      case .others: rowsLeft -= 1
      case .status(.end):
        phase = .ended
        return .end
      case .status(let status): return status
      }
    }
    return .more
  }

  /// Spools the shard's rows; the status says whether there are more.
  func fillOwn(_ spool: EntrySpool) throws(ManifestError) -> Status {
    var rowsLeft = Self.sliceRows
    while rowsLeft > 0 {
      if let file = takeOwnRun(maximum: rowsLeft) {
        rowsLeft -= pass.run.count
        if let run = own?.run, !run.isEmpty { try keep(run, file: file, in: spool) }
        continue
      }
      switch try nextOwn() {
      case .row(let row, let priority, let file):
        rowsLeft -= 1
        try keep(row, priority: priority, file: file, in: spool)
      case .others: rowsLeft -= 1
      case .status(let status): return status
      }
    }
    return .more
  }

  private enum OwnStep {
    case row(Row, LoadPriority, file: Int)
    /// Rows of other shards were skipped.
    case others
    case status(Status)
  }

  private func nextOwn() throws(ManifestError) -> OwnStep {
    switch try pass.next() {
    case .row(var row, let file):
      let source = pass.files[file]
      let priority = assembler.priority(of: &row, manifest: source.manifest)
      guard let (state, isOwn) = own?.judge(row, file, source, assembler) else { return .others }
      if state == .good { pass.countGoodEntries(file: file) }
      return isOwn ? .row(row, priority, file: file) : .others
    case .nothingYet: return .status(.more)
    case .wouldBlock: return .status(.waiting)
    case .end:
      own?.hasReadAll = true
      return .status(.end)
    }
  }

  /// Takes the next rows while they are plain, and returns the index of their file; the shard's rows are then in `own`.
  private func takeOwnRun(maximum: Int) -> Int? {
    guard let file = pass.takeRun(maximum: maximum) else { return nil }
    let good = own?.take(pass.run, of: file, pass.files[file], assembler) ?? 0
    pass.countGoodEntries(good, file: file)
    return file
  }
}
