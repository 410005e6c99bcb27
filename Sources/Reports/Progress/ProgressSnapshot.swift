/// How far a run is at one moment.
public struct ProgressSnapshot: Sendable, Equatable {
  /// The job's name.
  public var name: String
  /// Entries brought to an end.
  public var done: UInt64
  /// All entries of the job; nil as long as the manifests are being read.
  public var total: UInt64?
  /// Cached and fresh.
  public var hits: UInt64
  /// Downloaded, revalidated or checked.
  public var new: UInt64
  /// Failed in this run.
  public var failed: UInt64
  /// Blacklisted.
  public var knownBad: UInt64
  /// Entries a second, of late.
  public var urlsPerSecond: Double
  /// Received bytes a second, of late.
  public var bytesPerSecond: Double
  /// How long it may still take; nil where unknown.
  public var remaining: Duration?
  /// What holds it up right now, such as `img.example.com paused 12 s (429)`.
  public var note: String?

  /// Progress by what a run has counted.
  public init(
    name: String,
    totals: Totals,
    total: UInt64?,
    urlsPerSecond: Double,
    bytesPerSecond: Double,
    remaining: Duration? = nil,
    note: String? = nil
  ) {
    self.name = name
    done = totals.urls
    self.total = total
    hits = totals.hits
    new = totals.downloaded + totals.revalidated + totals.checked
    failed = totals.failed
    knownBad = totals.blacklisted
    self.urlsPerSecond = urlsPerSecond
    self.bytesPerSecond = bytesPerSecond
    self.remaining = remaining
    self.note = note
  }
}
