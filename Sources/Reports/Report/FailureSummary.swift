public import ImagePrimitives

/// A failed or blacklisted entry, as the report lists it.
public struct FailureRecord: Sendable, Equatable {
  /// How many a report lists.
  package static let listedLimit = 1000

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
  /// Whether it counts in the verdict.
  public var standing = FailureStanding.counts

  /// A record of an entry of which nothing more is known.
  public init(url: String, manifest: String, line: UInt64, priority: Priority, outcome: Outcome, failure: Failure?) {
    self.url = url
    self.manifest = manifest
    self.line = line
    self.priority = priority
    self.outcome = outcome
    self.failure = failure
    variant = .plain
    attempts = 0
    isBlacklisted = false
  }
}

extension FailureRecord {
  /// Where it stands, such as `urls/hero.txt:17`; a path that is very long is cut.
  var place: String { line > 0 ? "\(manifest.shortened(to: 160)):\(line)" : manifest.shortened(to: 160) }
}

/// Entries that failed alike: the same kind and, for `http-status`, the same status.
public struct FailureGroup: Sendable, Equatable {
  /// How many examples a report has of each.
  package static let exampleLimit = 10
  /// How many hosts a report names of each.
  package static let hostLimit = 8

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
  /// How many of both count in the verdict.
  public var counting: UInt64 = 0
  /// The first ten.
  public var examples: [FailureRecord] = []

  /// All in the group.
  public var count: UInt64 { failed + blacklisted }

  /// A group without entries so far.
  public init(kind: FailureKind?, status: Int?) {
    self.kind = kind
    self.status = status
  }
}

extension FailureGroup {
  /// What its failures have in common.
  package struct Key: Hashable {
    package var kind: FailureKind?
    package var status: Int?

    package init(kind: FailureKind?, status: Int?) {
      self.kind = kind
      self.status = status
    }
  }

  package var key: Key { Key(kind: kind, status: status) }

  /// The order of reports: the largest first, then by name.
  package func isBefore(_ other: FailureGroup) -> Bool { (other.count, sortingName) < (count, other.sortingName) }

  private var sortingName: String { "\(kind?.name ?? "") \(status ?? 0)" }
}

/// A host and a count.
public struct HostCount: Sendable, Equatable {
  /// Host and port, where it is not the scheme's own.
  public var host: String
  /// How many of them.
  public var count: UInt64

  /// A host and a count.
  public init(host: String, count: UInt64) {
    self.host = host
    self.count = count
  }
}

/// How many failed and blacklisted entries count in the verdict, and why others do not.
public struct FailureStandings: Sendable, Equatable {
  /// Those that count.
  public var counting: UInt64 = 0
  /// Those that failed in an earlier report, too.
  public var known: UInt64 = 0
  /// Those that count, by kind.
  public var countingByKind: [FailureKind: UInt64] = [:]

  public init() {}

  /// As many failures that all count.
  init(counting: UInt64) { self.counting = counting }

  mutating func count(_ standing: FailureStanding, kind: FailureKind?) {
    switch standing {
    case .counts:
      counting += 1
      if let kind { countingByKind[kind, default: 0] += 1 }
    case .known: known += 1
    }
  }
}
