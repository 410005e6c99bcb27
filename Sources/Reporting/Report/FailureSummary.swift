public import ImagePrimitives

/// A failed or blacklisted entry, as the report lists it.
public struct FailureRecord: Sendable, Equatable {
  /// The URL as written and resolved, credentials masked; what is not UTF-8 became U+FFFD.
  public var url: String
  /// The manifest's path, as the job names it.
  public var manifest: String
  /// The line in the manifest, from 1; 0 where it has none.
  public var line: UInt64
  /// The class it ran in.
  public var priority: Priority
  /// The way in which it was asked for.
  public var variant: ReportedVariant
  /// `failed` or `blacklisted`.
  public var outcome: Outcome
  /// Why; nil where nothing is known.
  public var failure: Failure?
  /// Requests made for it.
  public var attempts: UInt32
  /// What caches on the way had of it; nil where they were not asked.
  public var remoteCache: RemoteCacheStatus?
  /// Whether its URL is on the blacklist now.
  public var isBlacklisted: Bool
}

/// Entries that failed alike: the same kind and, for `http-status`, the same status.
public struct FailureGroup: Sendable, Equatable {
  /// The kind; nil for blacklisted entries of which no reason is known.
  public var kind: FailureKind?
  /// The HTTP status, for the kind `http-status` only.
  public var status: Int?
  /// How many failed in this run.
  public var failed: UInt64 = 0
  /// How many were on the blacklist for this reason.
  public var blacklisted: UInt64 = 0
  /// The hosts with most of them, descending.
  public var hosts: [HostCount] = []
  /// How many are of hosts that are not listed.
  public var elsewhere: UInt64 = 0
  /// The first two.
  public var examples: [FailureRecord] = []

  /// All in the group.
  public var count: UInt64 { failed + blacklisted }

  init(kind: FailureKind?, status: Int?) {
    self.kind = kind
    self.status = status
  }
}

/// A host and a count.
public struct HostCount: Sendable, Equatable {
  /// Host and port, where it is not the scheme's own.
  public var host: String
  /// How many of them.
  public var count: UInt64
}
