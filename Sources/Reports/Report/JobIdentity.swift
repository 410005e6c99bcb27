/// Which job a report is of, and which part of it.
public struct JobIdentity: Sendable, Equatable {
  public var name: String
  /// The job file's path; nil if the job came from the command line alone.
  public var file: String?
  /// A sentence on what it is for; empty: there is none.
  public var description: String
  /// The part of the job's entries that the report covers; nil: all of them.
  public var shard: ReportedShard?
  /// 32 hexadecimal digits that follow from what decides which entries the job has and how they are judged; nil if that is not
  /// known.
  ///
  /// Two reports of one job with different digests are of different lists, or were judged by different rules.
  public var digest: String?

  public init(name: String, file: String?, description: String = "", shard: ReportedShard? = nil, digest: String? = nil) {
    self.name = name
    self.file = file
    self.description = description
    self.shard = shard
    self.digest = digest
  }

  /// What people call it: the name, and which shard: `homepage, shard 2 of 5`.
  public var title: String { shard.map { "\(name), \($0.phrase)" } ?? name }
}

/// One of the parts that a job's entries were cut into, to be run each by itself.
public struct ReportedShard: Sendable, Hashable {
  /// Which one it is, from 1.
  public var index: Int
  /// How many there are.
  public var count: Int
  /// What they were cut by: `url` or `host`.
  public var rule: String

  /// What the run has read of the entries of all shards; nil if it did not read all of them, or that is not known.
  public var list: ReportedList?

  public init(index: Int, count: Int, by rule: String, list: ReportedList? = nil) {
    self.index = index
    self.count = count
    self.rule = rule
    self.list = list
  }

  /// `shard 2 of 5`.
  public var phrase: String { "shard \(grouped(UInt64(clamping: index))) of \(grouped(UInt64(clamping: count)))" }
}

/// By what shards know whether all of them have read the same lists.
public struct ReportedList: Sendable, Hashable {
  /// How many entries all shards together have, bad lines and those that filters left out among them.
  public var entries: UInt64
  /// A number that follows from them, whatever their order.
  public var fingerprint: UInt64

  public init(entries: UInt64, fingerprint: UInt64) {
    self.entries = entries
    self.fingerprint = fingerprint
  }
}
