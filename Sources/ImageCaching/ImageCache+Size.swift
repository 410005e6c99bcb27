public import ImagePrimitives

extension ImageCache {
  /// How much there is, without counting: one record of the index tells.
  public func totals() throws(CacheError) -> CacheTotals { try storedTotals().shown }

  /// Bytes that the cache takes on disk: the index with its free pages, and large bodies in whole blocks.
  public func diskBytes() throws(CacheError) -> Int {
    environment.indexDiskBytes + Int(clamping: try storedTotals().blobDiskBytes)
  }

  /// When the first of the images expires that are there now, in the past where it has already; nil: none will.
  ///
  /// By `maxAge` alone: lifetimes that entries have of their own, or by the server's word, are not looked at.
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

  /// Whether bodies take more than the configuration's `maxSize` by that part of it, such as 0.1; false where there is no limit.
  public func exceedsMaxSize(bySlack slack: Double) throws(CacheError) -> Bool {
    guard let maxSize = configuration.maxSize else { return false }
    return Double(try storedTotals().bodyBytes) > Double(maxSize) * (1 + slack)
  }

  /// Removes what is too old, then, if bodies exceed `maxSize`, the oldest until they take at most `maxSize × trimTo`; what was
  /// stored from `runStart` on goes last of all. Expired entries of the blacklist go too, and blobs that nobody needs, bit by bit.
  ///
  /// Many short transactions: what went before a failure stays gone.
  @discardableResult
  public func trim(protecting runStart: Timestamp? = nil) throws(CacheError) -> TrimResult {
    try checkWritable()
    try environment.clearDeadReaders()
    try writeTouches()
    let trimmer = Trimmer(
      expiry: expiry,
      maxSize: configuration.maxSize,
      trimTo: configuration.trimTo,
      runStart: runStart,
      now: configuration.time.wall()
    )
    let result = try trimmer.run(in: environment)
    // A crash leaves few blobs behind, if any: a sixteenth of the folders each time finds them soon, at little cost.
    let first = UInt8.random(in: 0..<16) * 16
    _ = try sweepBlobs(folders: first...first + 15)
    return result
  }

  /// Removes the large bodies that a crash has left without a record, and returns how many.
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

  private func storedTotals() throws(CacheError) -> Totals {
    try environment.read { (transaction, tables, isDeleted) throws(CacheError) in
      isDeleted ? Totals() : try WriteTransaction.totals(in: transaction, tables)
    }
  }
}
