import CLMDB
package import Base
import Synchronization

/// Removes expired entries, then the oldest ones until the rest fits.
///
/// The tables of times are read from the oldest entry, so the cost is proportional to what is removed. Each step is a short write
/// transaction, which lets other writers in between, and continues after the last row of the previous step.
///
/// The tables aren't ordered by lifetimes other than the cache's `maxAge`. So if there is room, the trim after a run removes only
/// entries older than `maxAge`; entries that expired earlier, by their own lifetime or the server's, stay for revalidation. If room
/// is needed, or if the trim was requested, all entries are examined, and all expired ones are removed first.
struct Trimmer {
  /// The number of rows that one transaction examines at most: a few megabytes of changed pages.
  private static let maximumRowCount = 1024
  /// Bytes of bodies that are freed at once on a full disk: more than the pages of a step of one row.
  private static let freedByteCount = 4 << 20

  let environment: IndexEnvironment
  let expiry: ExpiryRule
  let configuration: ImageCache.Configuration
  /// Entries stored from then on are removed last; nil if the trim was requested rather than part of a run.
  let runStart: Timestamp?
  /// Entries that the run found in the cache, which are removed last, too.
  let used: UsedEntries?
  /// Whether expired entries are kept as long as there is room.
  let keepsExpired: Bool
  let now: Timestamp
  /// The time up to which ages count, except for the server's freshness.
  let ageEnd: Timestamp
  /// Called after each transaction with what it removed; false ends the trim.
  let goesOn: (TrimResult) -> Bool
  private(set) var result = TrimResult()
  private var pace = WritePace(maximum: maximumRowCount)
  private var isEnded = false

  init(
    _ cache: ImageCache,
    protecting runStart: Timestamp?,
    used: UsedEntries?,
    keepsExpired: Bool,
    ageEnd: Timestamp?,
    goesOn: @escaping (TrimResult) -> Bool
  ) {
    (environment, expiry, configuration) = (cache.environment, cache.expiry, cache.configuration)
    (self.runStart, self.used, self.keepsExpired, self.goesOn) = (runStart, used, keepsExpired, goesOn)
    now = configuration.time.wall()
    self.ageEnd = ageEnd ?? now
  }

  private enum Purpose {
    case tooOld
    /// Stored while the clock was wrong.
    case fromFuture
    case expired
    /// Until bodies take at most `target` bytes; with `sparesRun`, except entries that the run stored or used.
    case oldest(target: UInt64, sparesRun: Bool)
  }

  mutating func run() throws(CacheError) {
    if runStart != nil, !keepsExpired, expiry.maxAgeMilliseconds != nil {
      try walk(.tooOld)
      try walk(.fromFuture)
    }
    let looksAtAll = try runStart == nil ? true : isOver()
    if looksAtAll { try walk(.expired) }
    if let maxBodyBytes = configuration.maxBodyBytes, !isEnded, try isOver() {
      let target = UInt64(max(0, Double(maxBodyBytes) * configuration.trimTo))
      if runStart != nil { try walk(.oldest(target: target, sparesRun: true)) }
      try walk(.oldest(target: target, sparesRun: false))
    }
    if isEnded { return }
    var mayHaveMore = try hasExpiredFailures()
    while mayHaveMore {
      let (environment, ageEnd) = (environment, ageEnd)
      mayHaveMore = try pace.step { (rowCount) throws(CacheError) in
        try environment.write { (transaction) throws(CacheError) in
          try transaction.trimBlacklist(at: ageEnd, limit: rowCount)
        }
      }
    }
  }

  /// Removes images that are too old and, if there is a limit, the oldest others, but none of the run, until at least that many bytes of
  /// bodies are gone.
  mutating func makeRoom(_ byteCount: Int) throws(CacheError) {
    try walk(.tooOld)
    let missing = UInt64(max(0, byteCount - result.bytesRemoved))
    guard missing > 0, configuration.maxBodyBytes != nil else { return }
    let bodyBytes = try environment.totals().bodyBytes
    try walk(.oldest(target: bodyBytes - min(bodyBytes, missing), sparesRun: true))
  }

  /// Whether a blacklisted failure can have expired, or the next one expires too late for a clock that was right.
  private func hasExpiredFailures() throws(CacheError) -> Bool {
    let next = try environment.totals().nextBlacklistExpiry
    if next <= ageEnd.milliseconds { return true }
    guard next != .max, let timeToLive = configuration.blacklistTTL else { return false }
    return next > ExpiryRule.presentEnd(now).advanced(by: timeToLive).milliseconds
  }

  private func isOver() throws(CacheError) -> Bool {
    guard let maxBodyBytes = configuration.maxBodyBytes else { return false }
    return try environment.totals().bodyBytes > UInt64(max(0, maxBodyBytes))
  }

  /// Removes rows in steps, with fewer rows if there is no room: to remove rows, LMDB writes new pages before it frees old ones.
  private mutating func walk(_ purpose: Purpose) throws(CacheError) {
    if isEnded { return }
    var last: TimeKey? = if case .fromFuture = purpose { TimeKey(lastAt: ExpiryRule.presentEnd(now)) } else { nil }
    var (pace, hasFreedBodies) = (pace, false)
    defer { self.pace = pace }
    repeat {
      do throws(CacheError) {
        let step = try pace.step { (rowCount) throws(CacheError) in
          try environment.write { (transaction) throws(CacheError) in
            try self.step(transaction, purpose, after: last, limit: rowCount)
          }
        }
        result.add(step.removed)
        (last, hasFreedBodies) = (step.last, false)
        isEnded = !goesOn(step.removed)
        if last == nil || isEnded { return }
      } catch {
        guard error.isLackOfRoom else { throw error }
        if pace.rowCount > 1 {
          pace.shorten()
        } else {
          guard !hasFreedBodies, try freeBodies(purpose, after: last) else { throw error }
          hasFreedBodies = true
        }
      }
    } while true
  }

  /// Frees disk space of bodies whose rows the next steps remove. Returns false if there was nothing to free. If the next step
  /// fails all the same, these rows remain with damaged bodies, which the next load fetches again.
  private func freeBodies(_ purpose: Purpose, after start: TimeKey?) throws(CacheError) -> Bool {
    var heads: [(CacheKey, EntryHead)] = []
    try environment.read { (transaction) throws(CacheError) in
      let totals = try transaction.totals()
      _ = try forEachRemovable(transaction, totals, purpose, after: start, limit: Self.maximumRowCount) { heads.append(($0, $1)) }
    }
    return try environment.freeBodies(of: heads, atLeast: Self.freedByteCount)
  }

  private func step(
    _ transaction: WriteTransaction,
    _ purpose: Purpose,
    after start: TimeKey?,
    limit: Int
  ) throws(CacheError) -> (removed: TrimResult, last: TimeKey?) {
    var removed = TrimResult()
    let last = try forEachRemovable(transaction.transaction, transaction.totals, purpose, after: start, limit: limit) {
      (key, head) throws(CacheError) in
      try transaction.remove(key, head)
      let isOldest = if case .oldest = purpose { true } else { false }
      removed.count(head, isExpired: !isOldest, isOfRun: isOfRun(head))
    }
    return (removed, last)
  }

  /// Examines the next rows and calls `body` with the entries to remove; returns the last row, or nil at the end.
  private func forEachRemovable(
    _ transaction: Transaction,
    _ totals: Totals,
    _ purpose: Purpose,
    after start: TimeKey?,
    limit: Int,
    _ body: (CacheKey, EntryHead) throws(CacheError) -> Void
  ) throws(CacheError) -> TimeKey? {
    let table = expiry.table(of: transaction, totals)
    var rows: [TimeKey] = []
    try transaction.forEach(in: table, after: start) { (bytes, _) throws(CacheError) in
      guard let row = TimeKey(stored: bytes) else { return true }
      if isPastLast(row.time, purpose, isByAccess: table == transaction.tables.byAccess) { return false }
      rows.append(row)
      return rows.count < limit
    }
    var bodyBytes = totals.bodyBytes
    for row in rows {
      if case .oldest(let target, _) = purpose, bodyBytes <= target { return nil }
      guard let head = try transaction.entry(row.key)?.head, mustRemove(head, purpose) else { continue }
      bodyBytes -= min(bodyBytes, head.bodySize)
      try body(row.key, head)
    }
    return rows.count == limit ? rows.last : nil
  }

  /// Whether neither this row nor any later one can be removed.
  private func isPastLast(_ time: Timestamp, _ purpose: Purpose, isByAccess: Bool) -> Bool {
    switch purpose {
    case .tooOld: !expiry.isTooOld(since: time, at: ageEnd)
    case .expired, .fromFuture: false
    case .oldest(_, let sparesRun): sparesRun && !isByAccess && runStart.map { time >= $0 } ?? false
    }
  }

  private func mustRemove(_ head: EntryHead, _ purpose: Purpose) -> Bool {
    switch purpose {
    case .tooOld: expiry.isTooOld(since: expiry.time(of: head), at: ageEnd) && expiry.mayBeRemoved(head, at: now, ageEnd: ageEnd)
    case .fromFuture: !isOfRun(head) && expiry.isFromFuture(head, at: now)
    // Entries that the run itself stored or used expire by age, even if the server wants them revalidated each time.
    case .expired: !isOfRun(head) && expiry.mayBeRemoved(head, at: now, ageEnd: ageEnd)
    case .oldest(_, let sparesRun): !(sparesRun && isOfRun(head))
    }
  }

  private func isOfRun(_ head: EntryHead) -> Bool {
    runStart.map { head.storedAt >= $0 && !expiry.isFromFuture(head, at: now) } ?? false || used?.contains(head) ?? false
  }
}

extension ExpiryRule {
  /// The table of the times from which ages count.
  fileprivate func table(of transaction: Transaction, _ totals: Totals) -> MDB_dbi {
    basis == .access && totals.keepsAccessOrder ? transaction.tables.byAccess : transaction.tables.byStored
  }
}

public struct TrimResult: Sendable, Hashable {
  public var expired = 0
  /// Images that were removed to save space, including ``evictedProtected``.
  public var trimmed = 0
  /// Images that were removed to save space although the run had stored or used them.
  public var evictedProtected = 0
  /// The size of the bodies of ``evictedProtected``.
  public var evictedProtectedBytes = 0
  /// The size of their bodies.
  public var bytesRemoved = 0

  public init() {}

  mutating func count(_ head: EntryHead, isExpired: Bool, isOfRun: Bool) {
    bytesRemoved += Int(clamping: head.bodySize)
    if isExpired {
      expired += 1
    } else {
      trimmed += 1
      guard isOfRun else { return }
      evictedProtected += 1
      evictedProtectedBytes += Int(clamping: head.bodySize)
    }
  }

  package mutating func add(_ other: TrimResult) {
    expired += other.expired
    trimmed += other.trimmed
    evictedProtected += other.evictedProtected
    evictedProtectedBytes += other.evictedProtectedBytes
    bytesRemoved += other.bytesRemoved
  }
}

extension ImageCache {
  /// The totals, read from one record of the index without counting.
  package func totals() throws(CacheError) -> CacheTotals { try environment.totals().shown }

  /// The size on disk in bytes: the index with its free pages, and large bodies in whole blocks.
  package func diskBytes() throws(CacheError) -> Int {
    environment.indexDiskBytes + Int(clamping: try environment.totals().blobDiskBytes)
  }

  /// When the first of the current images expires, in the past if it has already; nil if none will.
  ///
  /// It considers only `maxAge`, not entries' own lifetimes or the server's.
  package func freshUntil() throws(CacheError) -> Timestamp? {
    guard let maxAge = configuration.maxAge else { return nil }
    return try environment.read { (transaction) throws(CacheError) in
      var oldest: Timestamp?
      try transaction.forEach(in: expiry.table(of: transaction, try transaction.totals())) { (bytes, _) throws(CacheError) in
        oldest = TimeKey(stored: bytes)?.time
        return oldest == nil
      }
      return oldest?.advanced(by: maxAge)
    }
  }

  /// Whether bodies exceed the configuration's `maxBodyBytes` by the fraction `slack`, such as 0.1; false if there is no limit.
  package func exceedsMaxSize(bySlack slack: Double) throws(CacheError) -> Bool {
    guard let maxBodyBytes = configuration.maxBodyBytes else { return false }
    return Double(try environment.totals().bodyBytes) > Double(maxBodyBytes) * (1 + slack)
  }

  /// Removes everything that has expired, by any lifetime; then, if bodies exceed `maxBodyBytes`, the oldest until they take at most
  /// `maxBodyBytes × trimTo`. Expired entries of the blacklist go, too.
  ///
  /// With `runStart` it is the trim of a run: entries stored from then on are removed last. If bodies don't exceed `maxBodyBytes`, it
  /// removes only entries older than `maxAge`, so that others can be revalidated. It uses many transactions of a few milliseconds, between
  /// which others can write; if one fails, or the process dies, the previous ones stay.
  @discardableResult
  package func trim(protecting runStart: Timestamp? = nil) throws(CacheError) -> TrimResult {
    try trim(protecting: runStart, used: nil, ageEnd: nil)
  }

  /// The same for a run.
  ///
  /// - Parameters:
  ///   - used: the entries that it found in the cache, which are removed last, too.
  ///   - keepsExpired: whether expired entries are kept as long as there is room.
  ///   - ageEnd: the time up to which ages count, except for the server's freshness; nil: now.
  ///   - goesOn: called after each transaction with what it removed; false ends the trim, and another one may continue.
  @discardableResult
  package func trim(
    protecting runStart: Timestamp?,
    used: UsedEntries? = nil,
    keepsExpired: Bool = false,
    ageEnd: Timestamp?,
    goesOn: @escaping (TrimResult) -> Bool = { _ in true }
  ) throws(CacheError) -> TrimResult {
    try checkWritable()
    try environment.clearDeadReaders()
    do throws(CacheError) {
      try writeTouches()
    } catch {
      // On a full disk, making room matters more than times of access.
      guard error.isLackOfRoom else { throw error }
    }
    var trimmer = Trimmer(
      self,
      protecting: runStart,
      used: used,
      keepsExpired: keepsExpired,
      ageEnd: ageEnd,
      goesOn: goesOn
    )
    try trimmer.run()
    // A crash leaves few unused blobs, if any: checking a sixteenth of the folders each time finds them soon and is cheap.
    let first = UInt8.random(in: 0..<16) * 16
    _ = try sweepBlobs(folders: first...first + 15)
    return trimmer.result
  }

  /// Makes room on a full disk: removes images that are too old and, if there is a ``Configuration/maxBodyBytes``, the oldest others, until at
  /// least `byteCount` bytes of bodies are gone. Those that the run has stored or used stay.
  package func makeRoom(_ byteCount: Int, protecting runStart: Timestamp?, used: UsedEntries?) throws(CacheError) -> TrimResult {
    try checkWritable()
    let freed = Mutex(0)
    var trimmer = Trimmer(self, protecting: runStart, used: used, keepsExpired: false, ageEnd: nil) { removed in
      freed.withLock { freed in
        freed += removed.bytesRemoved
        return freed < byteCount
      }
    }
    try trimmer.makeRoom(byteCount)
    // The index reuses the pages that a transaction has freed only after the next one.
    if trimmer.result != TrimResult() {
      try environment.write { (transaction) throws(CacheError) in try transaction.writeTotals() }
    }
    return trimmer.result
  }

  /// Removes large bodies that a crash left without a record, and returns their number.
  @discardableResult
  package func sweepBlobs() throws(CacheError) -> Int {
    try checkWritable()
    try BlobFolder(environment.folder).sweepTemporary()
    return try sweepBlobs(folders: 0...255)
  }

  private func sweepBlobs(folders: ClosedRange<UInt8>) throws(CacheError) -> Int {
    let blobs = BlobFolder(environment.folder)
    var count = 0
    for number in folders where environment.folder.contains(BlobFolder.folderName(number)) {
      count += try environment.write { (transaction) throws(CacheError) in try blobs.sweep(number, in: transaction) }
    }
    return count
  }

  /// Removes all images, frees their space, and returns the previous totals; the blacklist is kept. Throws `inUse` if another
  /// process has the cache open.
  @discardableResult
  package func clear() throws(CacheError) -> CacheTotals {
    try alone { () throws(CacheError) in
      let before = try totals()
      do throws(CacheError) {
        try environment.write { (transaction) throws(CacheError) in try transaction.clearEntries() }
        _ = try sweepBlobs()
        try environment.replaceIndex()
      } catch {
        guard error.isLackOfRoom else { throw error }
        try clearWithoutRoom()
      }
      return before
    }
  }

  /// Replaces the index with an empty one and copies the blacklist into it; a crash in between loses the blacklist.
  private func clearWithoutRoom() throws(CacheError) {
    let totals = try environment.totals()
    var blacklist: [(key: [UInt8], value: [UInt8])] = []
    try environment.read { (transaction) throws(CacheError) in
      try transaction.forEach(in: transaction.tables.blacklist) { (key, value) throws(CacheError) in
        blacklist.append((Array(key), Array(value)))
        return true
      }
    }
    try environment.replaceIndex(isEmpty: true)
    try environment.write { (transaction) throws(CacheError) in try transaction.restore(totals, blacklist: blacklist) }
    _ = try sweepBlobs()
  }

  /// Compacts the index to reclaim disk space. Throws `inUse` if another process has the cache open.
  package func compact() throws(CacheError) { try alone { () throws(CacheError) in try environment.replaceIndex() } }

  private func alone<R>(_ body: () throws(CacheError) -> R) throws(CacheError) -> R {
    try checkWritable()
    return try environment.alone(body)
  }
}

/// The entries of a cache that a run has used, which a trim removes last: one bit per stored body.
package final class UsedEntries: Sendable {
  /// The bits of each page, by the page's number.
  private let pages = Mutex<[UInt64: [UInt64]]>([:])
  /// One page has the bits of 32,768 revisions in 4 KiB.
  private static let revisionBits: UInt64 = 15

  package init() {}

  package func insert(_ revisions: [UInt64]) {
    if revisions.isEmpty { return }
    pages.withLock { pages in
      for revision in revisions {
        let bit = Int(revision & ((1 << Self.revisionBits) - 1))
        pages[revision >> Self.revisionBits, default: Array(repeating: 0, count: 1 << Self.revisionBits / 64)][bit / 64] |=
          1 << (bit % 64)
      }
    }
  }

  func contains(_ head: EntryHead) -> Bool {
    let bit = Int(head.revision & ((1 << Self.revisionBits) - 1))
    return pages.withLock { $0[head.revision >> Self.revisionBits].map { $0[bit / 64] >> (bit % 64) & 1 == 1 } ?? false }
  }
}
