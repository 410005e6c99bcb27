import Glibc
package import Base

/// The entries of many lists, in fetching order: by priority, then FIFO or LIFO.
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
package final class ListReader {
  /// The result of ``nextAvailable(_:maximum:)``.
  package enum Status: Sendable, Hashable {
    /// More may follow at once, even if nothing was appended.
    case more
    /// Nothing more is available until ``waitDescriptor`` becomes readable.
    case waiting
    /// All entries were returned.
    case end
  }

  /// Entries of one list that were returned.
  package struct Counts: Sendable, Hashable {
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

    mutating func add(_ state: BatchEntry.State) {
      read += 1
      switch state {
      case .good: break
      case .filtered: filtered += 1
      case .invalid: invalid += 1
      }
    }
  }

  private enum Phase {
    case preparing
    case streaming
    case spooling(EntrySpool)
    case spooled(SpooledRows, count: Int)
    case ended
  }

  /// The maximum number of rows that are read before the caller gets a turn, whether or not any of them is returned.
  private static let sliceRows = 65_536

  /// The names of the lists in reports; each file of a pattern counts as one.
  ///
  /// Sitemaps of an index are added with their URLs, credentials masked.
  package private(set) var listNames: [String]
  /// The counts so far, by the index of the list.
  package private(set) var counts: [Counts]

  private let pass: ListWalk
  private let order: EntryOrder
  private let spoolDirectory: String
  private let assembler: EntryAssembler
  private var filter: ShardFilter
  private var phase = Phase.preparing
  private var failure: ListError?
  private var hasReadAll = false

  /// Opens all lists, so that an unreadable one throws before anything is fetched.
  ///
  /// `spoolDirectory` must exist; no files remain in it. `standardInput` is the descriptor that `-` means. Throws if a
  /// file can't be opened, a pattern has no matches, a CSV file lacks its column, or standard input is used twice.
  ///
  /// Lists that are named by URL are fetched by `fetcher` from the first call of ``nextAvailable(_:maximum:)`` on.
  /// Without a fetcher, such a list throws here, and a sitemap of an index counts as unreadable.
  ///
  /// With a `shard`, only its entries are returned and counted; ``URLList/limit`` counts those of all shards. `time` is the
  /// clock against which the dates of sitemaps are checked.
  package init(
    _ lists: [URLList],
    order: EntryOrder,
    spoolDirectory: String,
    standardInput: Int32 = 0,
    fetcher: (any ListFetcher)? = nil,
    shard: Shard? = nil,
    time: TimeSource = .system
  ) throws(ListError) {
    let opener = ListOpener(spoolDirectory: spoolDirectory, standardInput: standardInput, fetcher: fetcher, time: time)
    pass = try ListWalk(lists, opener: opener)
    self.order = order
    self.spoolDirectory = spoolDirectory
    assembler = EntryAssembler(lists)
    filter = ShardFilter(shard)
    listNames = pass.files.map(\.name)
    counts = Array(repeating: Counts(), count: listNames.count)
  }

  /// Appends at most `maximum` entries without waiting for a pipe or the network.
  ///
  /// If lists, or sitemaps of an index, can't be read, or not to their end, the first such error is thrown after the entries of
  /// all others were returned; the ``warnings`` have the others.
  package func nextAvailable(_ batch: inout EntryBatch, maximum: Int) throws(ListError) -> Status {
    defer { addNames() }
    if let failure, case .ended = phase { throw failure }
    let before = batch.entries.count
    do throws(ListError) {
      switch phase {
      case .preparing: return prepare()
      case .streaming: return try end(of: move(pass, to: nil, &batch, maximum: maximum))
      case .spooling(let spool): return try fill(spool, &batch)
      case .spooled(let rows, _): return try end(of: move(rows, to: nil, &batch, maximum: maximum))
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
    case .preparing, .streaming, .spooling: pass.expectedEntries.map { filter.expected(of: $0) }
    }
  }

  /// Whether any entry so far belongs to another shard and passes `include` and `exclude`; bad lines count.
  package var othersHaveEntries: Bool { filter.othersHaveEntries }

  /// Shows whether other shards have read the same lists; nil without a shard, and until all lists were read to
  /// their end.
  package var listFingerprint: ListFingerprint? { filter.isDivided && hasReadAll ? filter.list : nil }

  /// Warnings so far, such as malformed lines of a log: one sentence each, with the list's name.
  package var warnings: [String] { pass.warnings }

  /// How many pages of sitemaps were read so far, one sentence each.
  package var notes: [String] { pass.notes }

  /// The location of the entries of the list with that index in ``listNames``.
  package func location(ofManifest index: Int) -> ListLocation {
    switch pass.files[index].location {
    case .path(let path): .file(path)
    case .standardInput, .url: .elsewhere
    // The URL of one that another names is freed after reading.
    case nil: pass.files[index].kind == .listed ? .inline : .elsewhere
    }
  }

  private func addNames() {
    guard listNames.count < pass.files.count else { return }
    listNames += pass.files[listNames.count...].map(\.name)
    counts += repeatElement(Counts(), count: listNames.count - counts.count)
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

  /// Ends reading after the last row; an error of the first pass follows the rows of a spool.
  private func end(of status: Status) throws(ListError) -> Status {
    guard status == .end else { return status }
    phase = .ended
    if let failure { throw failure }
    return .end
  }

  /// Reads all lists into a spool; after an error, good entries are returned first.
  private func fill(_ spool: EntrySpool, _ batch: inout EntryBatch) throws(ListError) -> Status {
    do throws(ListError) {
      let status = try move(pass, to: spool, &batch, maximum: .max)
      if status != .end { return status }
    } catch {
      failure = error
    }
    try InputError.naming(listNames.first ?? "") { () throws(InputError) in try spool.finish() }
    let rows = SpooledRows(spool, files: pass.files, order: order) { [pass] in pass.pages(file: $0, using: $1) }
    phase = .spooled(rows, count: spool.count)
    return .more
  }

  /// Moves rows, of the lists themselves or of a spool, into a spool or the batch, which gets at most `maximum`.
  private func move<Rows: RowSource>(
    _ rows: Rows,
    to spool: EntrySpool?,
    _ batch: inout EntryBatch,
    maximum: Int
  ) throws(ListError) -> Status {
    let end = spool == nil ? batch.entries.count + maximum : .max
    var rowsLeft = Self.sliceRows
    while rowsLeft > 0, batch.entries.count < end {
      if let (file, priority) = rows.takeRun(maximum: min(end - batch.entries.count, rowsLeft)) {
        rowsLeft -= rows.run.count
        try accept(rows.run, priority, file, isNew: Rows.areNew, to: spool, &batch)
        continue
      }
      switch try rows.next() {
      case .row(var row, let file, let priority):
        rowsLeft -= 1
        let priority = priority ?? assembler.priority(of: &row, list: pass.files[file].list)
        try accept(row, priority, file, isNew: Rows.areNew, to: spool, &batch)
      case .nothingYet: return .more
      case .wouldBlock: return .waiting
      case .end:
        if Rows.areNew { hasReadAll = true }
        return .end
      }
    }
    return .more
  }

  /// Accepts plain rows of a file, all at once if nothing depends on a single one.
  private func accept(
    _ run: [PlainRow],
    _ priority: LoadPriority,
    _ file: Int,
    isNew: Bool,
    to spool: EntrySpool?,
    _ batch: inout EntryBatch
  ) throws(ListError) {
    if isNew, filter.isDivided || spool != nil && pass.hasLimit(file: file) {
      for row in run { try accept(row.row, priority, file, isNew: true, to: spool, &batch) }
      return
    }
    guard let spool else {
      let (list, base) = (pass.files[file].list, pass.files[file].base)
      let added = assembler.append(run, priority: priority, file: file, list: list, base: base, to: &batch)
      addNames()
      counts[file].add(added)
      if isNew { pass.countGoodEntries(added.read - added.filtered - added.invalid, file: file) }
      return
    }
    try InputError.naming(pass.files[file].name) { () throws(InputError) in
      try spool.append(run, priority: priority, file: file)
    }
  }

  /// Counts a new row towards the limit of its list, drops it if it belongs to another shard, and else gives it out.
  private func accept(
    _ row: Row,
    _ priority: LoadPriority,
    _ file: Int,
    isNew: Bool,
    to spool: EntrySpool?,
    _ batch: inout EntryBatch
  ) throws(ListError) {
    let isJudged = isNew && (filter.isDivided || spool != nil && pass.hasLimit(file: file))
    if isJudged {
      let (state, isOwn) = filter.judge(row, file, pass.files[file], assembler)
      if state == .good { pass.countGoodEntries(file: file) }
      if !isOwn { return }
    }
    guard let spool else {
      let (list, base) = (pass.files[file].list, pass.files[file].base)
      let state = assembler.append(row, priority: priority, file: file, list: list, base: base, to: &batch)
      addNames()
      counts[file].add(state)
      if isNew, !isJudged, state == .good { pass.countGoodEntries(file: file) }
      return
    }
    try InputError.naming(pass.files[file].name) { () throws(InputError) in
      try spool.append(row, priority: priority, file: file)
    }
  }
}

/// Where the reader gets rows from: the lists, or a spool that it has filled from them.
protocol RowSource: AnyObject {
  /// Whether rows haven't been counted yet, nor divided among shards.
  static var areNew: Bool { get }
  /// The rows of the last ``takeRun(maximum:)``, valid until the next step.
  var run: [PlainRow] { get }
  /// Takes the next rows of one file and priority while they are plain and in memory, and returns both; nil if ``next()`` must be
  /// called.
  func takeRun(maximum: Int) -> (file: Int, priority: LoadPriority)?
  /// Returns the next row, valid until the next step.
  func next() throws(ListError) -> RowSourceStep
}

enum RowSourceStep {
  /// A row of a file; without a priority, the row itself decides.
  case row(Row, file: Int, LoadPriority?)
  case nothingYet
  case wouldBlock
  case end
}
