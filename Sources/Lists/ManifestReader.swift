import Glibc
package import Base

/// The entries of many manifests, in fetching order: by priority, then FIFO or LIFO.
///
/// FIFO with one priority streams: entries are returned as they are read, even from a pipe. Any other order first makes
/// one forward pass, which writes an ``EntrySpool``. In both cases memory doesn't grow with the number of entries. It
/// must be used by one thread.
///
///     var batch = EntryBatch()
///     while try reader.next(&batch, maximum: 4096) {
///       …
///       batch.removeAll()
///     }
package final class ManifestReader {
  /// The result of ``nextAvailable(_:maximum:)``.
  package enum Status: Sendable, Hashable {
    /// More may follow at once, even if nothing was appended.
    case more
    /// Nothing more is available until ``waitDescriptor`` becomes readable.
    case waiting
    /// All entries were returned.
    case end
  }

  /// Entries of one manifest that were returned.
  package struct Counts: Sendable, Hashable {
    /// All of them.
    package var read = 0
    /// Those skipped by `include` and `exclude`.
    package var filtered = 0
    /// Those that aren't valid URLs.
    package var invalid = 0

    mutating func add(_ other: Counts) {
      read += other.read
      filtered += other.filtered
      invalid += other.invalid
    }
  }

  enum Phase {
    case preparing
    case streaming
    case spooling(EntrySpool)
    case spooled(SpooledRows, count: Int)
    case ended
  }

  /// The maximum number of rows that are spooled before the caller gets a turn.
  private static let spoolingSliceRows = 65_536

  /// The names of the manifests in reports; each file of a pattern counts as one.
  ///
  /// Sitemaps of an index are added with their URLs, credentials masked.
  package private(set) var manifestNames: [String]
  /// The counts so far, by the index of the manifest.
  package private(set) var counts: [Counts]

  let pass: ForwardPass
  private let order: EntryOrder
  private let spoolDirectory: String
  let assembler: EntryAssembler
  /// The rows that are returned; nil means all.
  var own: ShardFilter?
  var phase = Phase.preparing
  private var failure: ManifestError?
  private var scratch = EntryBatch()

  /// Opens all manifests, so that an unreadable one throws before anything is fetched.
  ///
  /// `spoolDirectory` must exist; no files remain in it. `standardInput` is the descriptor that `-` means. Throws if a
  /// file can't be opened, a pattern has no matches, a CSV file lacks its column, or standard input is used twice.
  ///
  /// Manifests that are named by URL are fetched by `fetcher` from the first call of ``nextAvailable(_:maximum:)`` on.
  /// Without a fetcher, such a manifest throws here, and a sitemap of an index counts as unreadable.
  ///
  /// With a `shard`, only its entries are returned and counted; ``Manifest/limit`` counts those of all shards. `time` is the
  /// clock against which the dates of sitemaps are checked.
  package init(
    _ manifests: [Manifest],
    order: EntryOrder,
    spoolDirectory: String,
    standardInput: Int32 = 0,
    fetcher: (any ManifestFetcher)? = nil,
    shard: Shard? = nil,
    time: TimeSource = .system
  ) throws(ManifestError) {
    let opener = ManifestOpener(spoolDirectory: spoolDirectory, standardInput: standardInput, fetcher: fetcher, time: time)
    pass = try ForwardPass(manifests, opener: opener)
    self.order = order
    self.spoolDirectory = spoolDirectory
    assembler = EntryAssembler(manifests)
    own = shard.map(ShardFilter.init)
    manifestNames = pass.files.map(\.name)
    counts = Array(repeating: Counts(), count: manifestNames.count)
  }

  /// Appends at most `maximum` entries without waiting for a pipe or the network.
  ///
  /// If manifests, or sitemaps of an index, can't be read, or not to their end, the first such error is thrown after the entries of all
  /// others were returned; the ``warnings`` have the others.
  package func nextAvailable(_ batch: inout EntryBatch, maximum: Int) throws(ManifestError) -> Status {
    defer { addNames() }
    if let failure, case .ended = phase { throw failure }
    let before = batch.entries.count
    do throws(ManifestError) {
      switch phase {
      case .preparing: return prepare()
      case .streaming where own != nil: return try streamOwn(into: &batch, maximum: maximum)
      case .streaming: return try stream(into: &batch, maximum: maximum)
      case .spooling(let spool): return try fill(spool)
      case .spooled(let rows, _): return try read(rows, into: &batch, maximum: maximum)
      case .ended: return .end
      }
    } catch {
      phase = .ended
      failure = error
      if batch.entries.count == before { throw error }
      return .more
    }
  }

  /// A descriptor that becomes readable when more is available, after ``nextAvailable(_:maximum:)`` returned
  /// ``Status/waiting``.
  package var waitDescriptor: Int32? { pass.waitDescriptor }

  /// The total number of entries: exact after all were read, else an estimate from the bytes read so far; nil if it is
  /// unknown, as for a pipe.
  package var expectedEntries: Int? {
    switch phase {
    case .spooled(_, let count): count
    case .ended: counts.reduce(0) { $0 + $1.read }
    case .preparing, .streaming, .spooling: pass.expectedEntries.map { own?.expected(of: $0) ?? $0 }
    }
  }

  /// Whether any entry so far belongs to another shard and passes `include` and `exclude`; bad lines count.
  package var othersHaveEntries: Bool { own?.othersHaveEntries ?? false }

  /// Shows whether other shards have read the same lists; nil without a shard, and until all manifests were read to
  /// their end.
  package var listFingerprint: ListFingerprint? { own.flatMap { $0.hasReadAll ? $0.list : nil } }

  /// Warnings so far, such as malformed lines of a log: one sentence each, with the manifest's name.
  package var warnings: [String] { pass.warnings }

  /// How many pages of sitemaps were read so far, one sentence each.
  package var notes: [String] { pass.notes }

  /// The location of the entries of the manifest with that index in ``manifestNames``.
  package func location(ofManifest index: Int) -> ManifestLocation {
    switch pass.files[index].location {
    case .path(let path): .file(path)
    case .standardInput, .url: .elsewhere
    // The URL of one that another names is freed after reading.
    case nil: pass.files[index].kind == .listed ? .inline : .elsewhere
    }
  }

  private func addNames() {
    guard manifestNames.count < pass.files.count else { return }
    manifestNames += pass.files[manifestNames.count...].map(\.name)
    counts += repeatElement(Counts(), count: manifestNames.count - counts.count)
  }

  private func prepare() -> Status {
    if order == .lifo || pass.hasSeveralClasses || pass.readsSeveralPages {
      phase = .spooling(EntrySpool(directory: spoolDirectory))
    } else {
      guard pass.prepareStreams() else { return .waiting }
      phase = pass.hasSeveralClasses ? .spooling(EntrySpool(directory: spoolDirectory)) : .streaming
    }
    return .more
  }

  private func stream(into batch: inout EntryBatch, maximum: Int) throws(ManifestError) -> Status {
    let end = batch.entries.count + maximum
    while batch.entries.count < end {
      if let file = pass.takeRun(maximum: end - batch.entries.count) {
        let run = appendRun(pass.run, priority: pass.manifests[pass.files[file].manifest].priority, file: file, to: &batch)
        pass.countGoodEntries(run.read - run.filtered - run.invalid, file: file)
        continue
      }
      switch try pass.next() {
      case .row(var row, let file):
        let priority = assembler.priority(of: &row, manifest: pass.files[file].manifest)
        let state = append(row, priority: priority, file: file, to: &batch)
        if state == .good { pass.countGoodEntries(file: file) }
        count(state, file: file)
      case .nothingYet: return .more
      case .wouldBlock: return .waiting
      case .end:
        phase = .ended
        return .end
      }
    }
    return .more
  }

  private func fill(_ spool: EntrySpool) throws(ManifestError) -> Status {
    do throws(ManifestError) {
      if own != nil {
        let status = try fillOwn(spool)
        guard status == .end else { return status }
        try startReading(spool)
        return .more
      }
      let end = spool.count + Self.spoolingSliceRows
      while spool.count < end {
        if let file = pass.takeRun(maximum: end - spool.count) {
          try keepRun(file: file, in: spool)
          continue
        }
        switch try pass.next() {
        case .row(let row, let file): try keep(row, file: file, in: spool)
        case .nothingYet: return .more
        case .wouldBlock: return .waiting
        case .end:
          try startReading(spool)
          return .more
        }
      }
      return .more
    } catch {
      // Good entries are returned first.
      failure = error
      try startReading(spool)
      return .more
    }
  }

  private func keep(_ row: Row, file: Int, in spool: EntrySpool) throws(ManifestError) {
    var row = row
    let priority = assembler.priority(of: &row, manifest: pass.files[file].manifest)
    if pass.hasLimit(file: file) {
      scratch.removeAll()
      if append(row, priority: priority, file: file, to: &scratch) == .good {
        pass.countGoodEntries(file: file)
      }
    }
    try keep(row, priority: priority, file: file, in: spool)
  }

  func keep(_ row: Row, priority: LoadPriority, file: Int, in spool: EntrySpool) throws(ManifestError) {
    do throws(InputError) {
      try spool.append(row, priority: priority, file: file, offset: pass.canReadAgain ? row.offset : nil)
    } catch {
      throw error.error(in: pass.files[file].name)
    }
  }

  private func keepRun(file: Int, in spool: EntrySpool) throws(ManifestError) {
    if pass.hasLimit(file: file) {
      for row in pass.run { try keep(row.row, file: file, in: spool) }
      return
    }
    try keep(pass.run, file: file, in: spool)
  }

  func keep(_ run: [PlainRow], file: Int, in spool: EntrySpool) throws(ManifestError) {
    do throws(InputError) {
      let priority = pass.manifests[pass.files[file].manifest].priority
      try spool.append(run, priority: priority, file: file, canReadAgain: pass.canReadAgain)
    } catch {
      throw error.error(in: pass.files[file].name)
    }
  }

  private func startReading(_ spool: EntrySpool) throws(ManifestError) {
    do throws(InputError) {
      try spool.finish()
    } catch {
      throw error.error(in: manifestNames.first ?? "")
    }
    let rows = SpooledRows(spool, files: pass.files, versions: pass.versions, order: order) { [pass] in
      pass.pages(file: $0, using: $1)
    }
    phase = .spooled(rows, count: spool.count)
  }

  private func read(_ rows: SpooledRows, into batch: inout EntryBatch, maximum: Int) throws(ManifestError) -> Status {
    let end = batch.entries.count + maximum
    while batch.entries.count < end {
      if let (file, priority) = rows.takeRun(maximum: end - batch.entries.count) {
        appendRun(rows.run, priority: priority, file: file, to: &batch)
        continue
      }
      guard let (row, file, priority) = try rows.next() else {
        phase = .ended
        if let failure { throw failure }
        return .end
      }
      count(append(row, priority: priority, file: file, to: &batch), file: file)
    }
    return .more
  }

  @discardableResult
  func appendRun(_ run: [PlainRow], priority: LoadPriority, file: Int, to batch: inout EntryBatch) -> Counts {
    let (manifest, base) = (pass.files[file].manifest, pass.files[file].base)
    let run = assembler.append(run, priority: priority, file: file, manifest: manifest, base: base, to: &batch)
    addNames()
    counts[file].add(run)
    return run
  }

  func append(_ row: Row, priority: LoadPriority, file: Int, to batch: inout EntryBatch) -> BatchEntry.State {
    let (manifest, base) = (pass.files[file].manifest, pass.files[file].base)
    return assembler.append(row, priority: priority, file: file, manifest: manifest, base: base, to: &batch)
  }

  func count(_ state: BatchEntry.State, file: Int) {
    addNames()
    counts[file].read += 1
    switch state {
    case .good: break
    case .filtered: counts[file].filtered += 1
    case .invalid: counts[file].invalid += 1
    }
  }
}
