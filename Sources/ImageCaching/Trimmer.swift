import ImagePrimitives

/// Removes what is too old, and then the oldest until the rest fits.
///
/// The tables of times are read from their oldest end, so the cost is that of what is removed. Each step is a short write
/// transaction, between which others get their turn, and goes on behind the last row that the one before looked at.
///
/// An entry that has expired before the cache's `maxAge` did, by a lifetime of its own or the server's word, stays until `maxAge`
/// or the size removes it: for look-ups it has expired all the same, and it is there to be asked for again.
struct Trimmer {
  /// Rows that one transaction looks at: a few megabytes of changed pages.
  private static let stepRowCount = 1024

  let expiry: ExpiryRule
  let maxSize: Int?
  let trimTo: Double
  /// What was stored from here on goes last of all.
  let runStart: Timestamp?
  let now: Timestamp

  /// What the rows that a walk looks at must be to go.
  fileprivate enum Purpose {
    case expired
    /// Until bodies take no more than `target`; without what the run stored if it is spared.
    case oldest(target: UInt64, sparesRun: Bool)
  }

  /// Removes all that has to go.
  func run(in environment: Environment) throws(CacheError) -> TrimResult {
    var result = TrimResult()
    if expiry.maxAgeMilliseconds != nil { try walk(environment, .expired, &result) }
    if let maxSize, try totals(in: environment).bodyBytes > UInt64(max(0, maxSize)) {
      let target = UInt64(max(0, Double(maxSize) * trimTo))
      if runStart != nil { try walk(environment, .oldest(target: target, sparesRun: true), &result) }
      try walk(environment, .oldest(target: target, sparesRun: false), &result)
    }
    if try totals(in: environment).nextBlacklistExpiry <= now.milliseconds { try trimBlacklist(environment) }
    return result
  }

  private func totals(in environment: Environment) throws(CacheError) -> Totals {
    try environment.read { (transaction, tables, _) throws(CacheError) in try WriteTransaction.totals(in: transaction, tables) }
  }

  private func trimBlacklist(_ environment: Environment) throws(CacheError) {
    var mayHaveMore = true
    while mayHaveMore {
      mayHaveMore = try environment.write { (transaction) throws(CacheError) in
        try transaction.trimBlacklist(at: now, limit: Self.stepRowCount)
      }
    }
  }

  private func walk(_ environment: Environment, _ purpose: Purpose, _ result: inout TrimResult) throws(CacheError) {
    var last: TimeKey?
    repeat {
      let step = try environment.write { (transaction) throws(CacheError) in try self.step(transaction, purpose, after: last) }
      result.add(step.removed)
      last = step.last
    } while last != nil
  }

  /// Looks at the next rows; `last` is the last of them, nil where the walk is at its end.
  private func step(
    _ transaction: WriteTransaction,
    _ purpose: Purpose,
    after start: TimeKey?
  ) throws(CacheError) -> (removed: TrimResult, last: TimeKey?) {
    var removed = TrimResult()
    let rows = try nextRows(transaction, purpose, after: start)
    for row in rows {
      if case .oldest(let target, _) = purpose, transaction.totals.bodyBytes <= target { return (removed, nil) }
      guard let head = try transaction.entry(row.key)?.head, mustGo(head, purpose) else { continue }
      try transaction.remove(row.key, head)
      removed.count(head, purpose, isOfRun: isOfRun(head))
    }
    return (removed, rows.count == Self.stepRowCount ? rows.last : nil)
  }

  private func nextRows(
    _ transaction: WriteTransaction,
    _ purpose: Purpose,
    after start: TimeKey?
  ) throws(CacheError) -> [TimeKey] {
    let isByAccess = expiry.basis == .access && transaction.totals.keepsAccessOrder
    let table = isByAccess ? transaction.tables.byAccess : transaction.tables.byStored
    var rows: [TimeKey] = []
    try transaction.transaction.forEach(in: table, after: start?.storedBytes) { (bytes, _) throws(CacheError) in
      guard let row = TimeKey(stored: bytes) else { return true }
      if isPastLast(row.time, purpose, isByAccess: isByAccess) { return false }
      rows.append(row)
      return rows.count < Self.stepRowCount
    }
    return rows
  }

  /// Whether neither this row nor any later one can have to go.
  private func isPastLast(_ time: Timestamp, _ purpose: Purpose, isByAccess: Bool) -> Bool {
    switch purpose {
    case .expired: !expiry.isTooOld(since: time, at: now)
    case .oldest(_, let sparesRun): sparesRun && !isByAccess && runStart.map { time >= $0 } ?? false
    }
  }

  private func mustGo(_ head: EntryHead, _ purpose: Purpose) -> Bool {
    switch purpose {
    case .expired: expiry.mayBeRemoved(head, at: now)
    case .oldest(_, let sparesRun): !(sparesRun && isOfRun(head))
    }
  }

  private func isOfRun(_ head: EntryHead) -> Bool { runStart.map { head.storedAt >= $0 } ?? false }
}

extension TrimResult {
  fileprivate mutating func count(_ head: EntryHead, _ purpose: Trimmer.Purpose, isOfRun: Bool) {
    bytesRemoved += Int(clamping: head.bodySize)
    switch purpose {
    case .expired: expired += 1
    case .oldest:
      trimmed += 1
      if isOfRun { evictedProtected += 1 }
    }
  }

  fileprivate mutating func add(_ other: TrimResult) {
    expired += other.expired
    trimmed += other.trimmed
    evictedProtected += other.evictedProtected
    bytesRemoved += other.bytesRemoved
  }
}
