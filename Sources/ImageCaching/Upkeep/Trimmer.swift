public import Base

/// Removes expired entries, then the oldest ones until the rest fits.
///
/// The tables of times are read from the oldest entry, so the cost is proportional to what is removed. Each step is a short write
/// transaction, which lets other writers in between, and continues after the last row of the previous step.
///
/// The tables aren't ordered by lifetimes other than the cache's `maxAge`. So if there is room, the trim after a run removes only
/// entries older than `maxAge`; entries that expired earlier, by their own lifetime or the server's, stay for revalidation. If room
/// is needed, or if the trim was requested, all entries are examined, and all expired ones are removed first.
struct Trimmer {
  /// The number of rows that one transaction examines: a few megabytes of changed pages.
  private static let stepRowCount = 1024
  /// Bytes of bodies that are freed at once on a full disk: more than the pages of a step of one row.
  private static let freedByteCount = 4 << 20

  let expiry: ExpiryRule
  let maxSize: Int?
  let trimTo: Double
  /// Entries stored from then on are removed last; nil if the trim was requested rather than part of a run.
  let runStart: Timestamp?
  /// Entries that the run found in the cache, which are removed last, too.
  let used: UsedEntries?
  /// Whether expired entries are kept as long as there is room.
  let keepsExpired: Bool
  let now: Timestamp
  /// The time up to which ages count, except for the server's freshness.
  let ageEnd: Timestamp
  /// How long failures stay on the blacklist; nil: permanently.
  let blacklistTTL: Duration?

  /// The criterion for removing rows.
  fileprivate enum Purpose {
    case tooOld
    /// Stored while the clock was wrong.
    case fromFuture
    /// By any lifetime.
    case expired
    /// Until bodies take at most `target` bytes; with `sparesRun`, except entries that the run stored or used.
    case oldest(target: UInt64, sparesRun: Bool)
  }

  func run(in environment: IndexEnvironment) throws(CacheError) -> TrimResult {
    var result = TrimResult()
    if runStart != nil, !keepsExpired, expiry.maxAgeMilliseconds != nil {
      try walk(environment, .tooOld, &result)
      try walk(environment, .fromFuture, &result)
    }
    let looksAtAll = try runStart == nil ? true : isOver(environment)
    if looksAtAll { try walk(environment, .expired, &result) }
    if let maxSize, try isOver(environment) {
      let target = UInt64(max(0, Double(maxSize) * trimTo))
      if runStart != nil { try walk(environment, .oldest(target: target, sparesRun: true), &result) }
      try walk(environment, .oldest(target: target, sparesRun: false), &result)
    }
    if try hasExpiredFailures(environment) { try trimBlacklist(environment) }
    return result
  }

  /// Whether a blacklisted failure can have expired, or the next one expires too late for a clock that was right.
  private func hasExpiredFailures(_ environment: IndexEnvironment) throws(CacheError) -> Bool {
    let next = try totals(in: environment).nextBlacklistExpiry
    if next <= ageEnd.milliseconds { return true }
    guard next != .max, let blacklistTTL else { return false }
    return next > ExpiryRule.presentEnd(now).advanced(by: blacklistTTL).milliseconds
  }

  /// Whether bodies exceed the limit.
  private func isOver(_ environment: IndexEnvironment) throws(CacheError) -> Bool {
    guard let maxSize else { return false }
    return try totals(in: environment).bodyBytes > UInt64(max(0, maxSize))
  }

  private func totals(in environment: IndexEnvironment) throws(CacheError) -> Totals {
    try environment.read { (transaction, tables, _) throws(CacheError) in try WriteTransaction.totals(in: transaction, tables) }
  }

  private func trimBlacklist(_ environment: IndexEnvironment) throws(CacheError) {
    var mayHaveMore = true
    while mayHaveMore {
      mayHaveMore = try environment.write { (transaction) throws(CacheError) in
        try transaction.trimBlacklist(at: ageEnd, limit: Self.stepRowCount)
      }
    }
  }

  private func walk(_ environment: IndexEnvironment, _ purpose: Purpose, _ result: inout TrimResult) throws(CacheError) {
    var last: TimeKey? = if case .fromFuture = purpose { TimeKey(lastAt: ExpiryRule.presentEnd(now)) } else { nil }
    var rowCount = Self.stepRowCount
    repeat {
      let step = try stepWithRoom(environment, purpose, after: last, &rowCount)
      result.add(step.removed)
      last = step.last
    } while last != nil
  }

  /// Runs the next step, with fewer rows if there is no room: to remove rows, LMDB writes new pages before it frees old ones.
  private func stepWithRoom(
    _ environment: IndexEnvironment,
    _ purpose: Purpose,
    after start: TimeKey?,
    _ rowCount: inout Int
  ) throws(CacheError) -> (removed: TrimResult, last: TimeKey?) {
    var hasFreedBodies = false
    while true {
      do throws(CacheError) {
        let count = rowCount
        let step = try environment.write { (transaction) throws(CacheError) in
          try self.step(transaction, purpose, after: start, limit: count)
        }
        rowCount = min(Self.stepRowCount, rowCount * 2)
        return step
      } catch {
        guard error.isLackOfRoom else { throw error }
        if rowCount > 1 {
          rowCount = max(1, rowCount / 32)
        } else {
          guard !hasFreedBodies, try freeBodies(environment, purpose, after: start) else { throw error }
          hasFreedBodies = true
        }
      }
    }
  }

  /// Frees disk space of bodies whose rows the next steps remove. Returns false if there was nothing to free.
  ///
  /// If the next step fails all the same, these rows remain with damaged bodies, which the next load fetches again.
  private func freeBodies(_ environment: IndexEnvironment, _ purpose: Purpose, after start: TimeKey?) throws(CacheError) -> Bool {
    let heads = try environment.read { (transaction, tables, _) throws(CacheError) in
      try self.nextHeads(transaction, tables, purpose, after: start)
    }
    return try environment.freeBodies(of: heads, atLeast: Self.freedByteCount)
  }

  private func nextHeads(
    _ transaction: Transaction,
    _ tables: Tables,
    _ purpose: Purpose,
    after start: TimeKey?
  ) throws(CacheError) -> [(CacheKey, EntryHead)] {
    let totals = try WriteTransaction.totals(in: transaction, tables)
    var bodyBytes = totals.bodyBytes
    var heads: [(CacheKey, EntryHead)] = []
    for row in try nextRows(transaction, tables, totals, purpose, after: start, limit: Self.stepRowCount) {
      if case .oldest(let target, _) = purpose, bodyBytes <= target { break }
      guard let head = try WriteTransaction.entry(row.key, in: transaction, tables)?.head, mustRemove(head, purpose)
      else { continue }
      bodyBytes -= min(bodyBytes, head.bodySize)
      heads.append((row.key, head))
    }
    return heads
  }

  /// Examines the next rows; `last` is the last of them, or nil at the end.
  private func step(
    _ transaction: WriteTransaction,
    _ purpose: Purpose,
    after start: TimeKey?,
    limit: Int
  ) throws(CacheError) -> (removed: TrimResult, last: TimeKey?) {
    var removed = TrimResult()
    let rows = try nextRows(
      transaction.transaction,
      transaction.tables,
      transaction.totals,
      purpose,
      after: start,
      limit: limit
    )
    for row in rows {
      if case .oldest(let target, _) = purpose, transaction.totals.bodyBytes <= target { return (removed, nil) }
      guard let head = try transaction.entry(row.key)?.head, mustRemove(head, purpose) else { continue }
      try transaction.remove(row.key, head)
      removed.count(head, purpose, isOfRun: isOfRun(head))
    }
    return (removed, rows.count == limit ? rows.last : nil)
  }

  private func nextRows(
    _ transaction: Transaction,
    _ tables: Tables,
    _ totals: Totals,
    _ purpose: Purpose,
    after start: TimeKey?,
    limit: Int
  ) throws(CacheError) -> [TimeKey] {
    let isByAccess = expiry.basis == .access && totals.keepsAccessOrder
    let table = isByAccess ? tables.byAccess : tables.byStored
    var rows: [TimeKey] = []
    try transaction.forEach(in: table, after: start?.storedBytes) { (bytes, _) throws(CacheError) in
      guard let row = TimeKey(stored: bytes) else { return true }
      if isPastLast(row.time, purpose, isByAccess: isByAccess) { return false }
      rows.append(row)
      return rows.count < limit
    }
    return rows
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

extension TrimResult {
  fileprivate mutating func count(_ head: EntryHead, _ purpose: Trimmer.Purpose, isOfRun: Bool) {
    bytesRemoved += Int(clamping: head.bodySize)
    switch purpose {
    case .tooOld, .fromFuture, .expired: expired += 1
    case .oldest:
      trimmed += 1
      guard isOfRun else { return }
      evictedProtected += 1
      evictedProtectedBytes += Int(clamping: head.bodySize)
    }
  }

  /// Adds the counts of a later trim.
  package mutating func add(_ other: TrimResult) {
    expired += other.expired
    trimmed += other.trimmed
    evictedProtected += other.evictedProtected
    evictedProtectedBytes += other.evictedProtectedBytes
    bytesRemoved += other.bytesRemoved
  }
}

public struct TrimResult: Sendable, Hashable {
  /// Expired images.
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
}

extension ImageCache {
  /// The totals, read from one record of the index without counting.
  public func totals() throws(CacheError) -> CacheTotals { try storedTotals().shown }

  /// The size on disk in bytes: the index with its free pages, and large bodies in whole blocks.
  public func diskBytes() throws(CacheError) -> Int {
    environment.indexDiskBytes + Int(clamping: try storedTotals().blobDiskBytes)
  }

  /// When the first of the current images expires, in the past if it has already; nil if none will.
  ///
  /// It considers only `maxAge`, not entries' own lifetimes or the server's.
  public func freshUntil() throws(CacheError) -> Timestamp? {
    guard let maxAge = configuration.maxAge else { return nil }
    let keepsAccessOrder = try storedTotals().keepsAccessOrder
    return try environment.read { (transaction, tables, isDeleted) throws(CacheError) in
      var oldest: Timestamp?
      let isByAccess = expiry.basis == .access && keepsAccessOrder
      if isDeleted { return nil }
      try transaction.forEach(in: isByAccess ? tables.byAccess : tables.byStored, after: nil) { (bytes, _) throws(CacheError) in
        oldest = TimeKey(stored: bytes)?.time
        return oldest == nil
      }
      return oldest?.advanced(by: maxAge)
    }
  }

  /// Whether bodies exceed the configuration's `maxSize` by the fraction `slack`, such as 0.1; false if there is no limit.
  public func exceedsMaxSize(bySlack slack: Double) throws(CacheError) -> Bool {
    guard let maxSize = configuration.maxSize else { return false }
    return Double(try storedTotals().bodyBytes) > Double(maxSize) * (1 + slack)
  }

  /// Removes everything that has expired, by any lifetime; then, if bodies exceed `maxSize`, the oldest until they take at most
  /// `maxSize × trimTo`. It also removes expired entries of the blacklist, and a part of unused blobs each time.
  ///
  /// With `runStart` it is the trim of a run: entries stored from then on are removed last. If bodies don't exceed `maxSize`, it
  /// removes only entries older than `maxAge`, so that those that expired earlier, by another lifetime, can still be revalidated.
  ///
  /// It uses many short transactions; if one fails, the previous ones stay committed.
  @discardableResult
  public func trim(protecting runStart: Timestamp? = nil) throws(CacheError) -> TrimResult {
    try trim(protecting: runStart, used: nil, ageEnd: nil)
  }

  /// The same for a run.
  ///
  /// - Parameters:
  ///   - used: the entries that it found in the cache, which are removed last, too.
  ///   - keepsExpired: whether expired entries are kept as long as there is room.
  ///   - ageEnd: the time up to which ages count, except for the server's freshness; nil: now.
  package func trim(
    protecting runStart: Timestamp?,
    used: UsedEntries? = nil,
    keepsExpired: Bool = false,
    ageEnd: Timestamp?
  ) throws(CacheError) -> TrimResult {
    try checkWritable()
    try environment.clearDeadReaders()
    do throws(CacheError) {
      try writeTouches()
    } catch {
      // On a full disk, making room matters more than times of access.
      guard error.isLackOfRoom else { throw error }
    }
    let now = configuration.time.wall()
    let trimmer = Trimmer(
      expiry: expiry,
      maxSize: configuration.maxSize,
      trimTo: configuration.trimTo,
      runStart: runStart,
      used: used,
      keepsExpired: keepsExpired,
      now: now,
      ageEnd: ageEnd ?? now,
      blacklistTTL: configuration.blacklistTTL
    )
    let result = try trimmer.run(in: environment)
    // A crash leaves few unused blobs, if any: checking a sixteenth of the folders each time finds them soon and is cheap.
    let first = UInt8.random(in: 0..<16) * 16
    _ = try sweepBlobs(folders: first...first + 15)
    return result
  }

  /// Removes large bodies that a crash left without a record, and returns their number.
  @discardableResult
  public func sweepBlobs() throws(CacheError) -> Int {
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

  func storedTotals() throws(CacheError) -> Totals {
    try environment.read { (transaction, tables, isDeleted) throws(CacheError) in
      isDeleted ? Totals() : try WriteTransaction.totals(in: transaction, tables)
    }
  }
}

/// The totals of a cache, updated in every transaction: correct after a crash, without counting.
public struct CacheTotals: Sendable, Hashable {
  public let entries: Int
  /// The size of their bodies in bytes.
  public let bodyBytes: Int
  /// URLs on the blacklist, including expired ones that weren't trimmed yet.
  public let blacklistEntries: Int
}

/// The one record of the table `totals`: format version 1. All integers are little-endian.
///
/// | offset | type | |
/// |---|---|---|
/// | 0 | u64 | entries |
/// | 8 | u64 | bytes of bodies |
/// | 16 | u64 | bytes of blobs on disk, each rounded up to whole blocks |
/// | 24 | u64 | entries of the blacklist |
/// | 32 | i64 | no entry of the blacklist expires before this, milliseconds since 1970 |
/// | 40 | u64 | the highest revision given so far |
/// | 48 | u8 | flags: 1 the table `by-access` is maintained |
struct Totals: Equatable {
  static let byteCount = 49
  private static let blockByteCount: UInt64 = 4096

  var entries: UInt64 = 0
  var bodyBytes: UInt64 = 0
  var blobDiskBytes: UInt64 = 0
  var blacklistEntries: UInt64 = 0
  var nextBlacklistExpiry: Int64 = .max
  var lastRevision: UInt64 = 0
  var keepsAccessOrder = false

  init() {}

  /// Parses totals from their record; nil if the bytes are invalid.
  init?(stored bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.byteCount else { return nil }
    entries = bytes.littleEndian(at: 0)
    bodyBytes = bytes.littleEndian(at: 8)
    blobDiskBytes = bytes.littleEndian(at: 16)
    blacklistEntries = bytes.littleEndian(at: 24)
    nextBlacklistExpiry = bytes.littleEndian(at: 32)
    lastRevision = bytes.littleEndian(at: 40)
    keepsAccessOrder = bytes[48] & 1 != 0
  }

  func write(to record: UnsafeMutableRawBufferPointer) {
    record.setLittleEndian(entries, at: 0)
    record.setLittleEndian(bodyBytes, at: 8)
    record.setLittleEndian(blobDiskBytes, at: 16)
    record.setLittleEndian(blacklistEntries, at: 24)
    record.setLittleEndian(nextBlacklistExpiry, at: 32)
    record.setLittleEndian(lastRevision, at: 40)
    record[48] = keepsAccessOrder ? 1 : 0
  }

  // All sums are clamped: a damaged record must not crash the process.

  mutating func add(_ head: EntryHead) {
    entries = Self.sum(entries, 1)
    bodyBytes = Self.sum(bodyBytes, head.bodySize)
    if head.isBlob { blobDiskBytes = Self.sum(blobDiskBytes, Self.diskBytes(head.bodySize)) }
  }

  mutating func subtract(_ head: EntryHead) {
    entries -= min(entries, 1)
    bodyBytes -= min(bodyBytes, head.bodySize)
    if head.isBlob { blobDiskBytes -= min(blobDiskBytes, Self.diskBytes(head.bodySize)) }
  }

  private static func diskBytes(_ size: UInt64) -> UInt64 { sum(size, blockByteCount - 1) / blockByteCount * blockByteCount }

  private static func sum(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? .max : sum
  }

  /// The totals for users of the cache.
  var shown: CacheTotals {
    CacheTotals(
      entries: Int(clamping: entries),
      bodyBytes: Int(clamping: bodyBytes),
      blacklistEntries: Int(clamping: blacklistEntries)
    )
  }
}
