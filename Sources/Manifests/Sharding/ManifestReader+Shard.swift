import ImagePrimitives

/// Reading for one shard: every row is read, since only its URL tells whose it is, and those of others are dropped at once.
extension ManifestReader {
  /// How many rows are read at most before the caller gets a turn, whether or not any of them is its own.
  private static let sliceRows = 65_536

  /// Hands out own rows as they are read; see ``nextAvailable(_:maximum:)``.
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

  /// Spools own rows; the status says whether there are more.
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
    case row(Row, Priority, file: Int)
    /// One of another shard was passed over.
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

  /// Takes the next rows while they are plain, and returns the index of their file; the own ones are in `own` then.
  private func takeOwnRun(maximum: Int) -> Int? {
    guard let file = pass.takeRun(maximum: maximum) else { return nil }
    let good = own?.take(pass.run, of: file, pass.files[file], assembler) ?? 0
    pass.countGoodEntries(good, file: file)
    return file
  }
}
