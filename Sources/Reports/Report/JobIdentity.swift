/// The job of a report, and its part of the job.
package struct JobIdentity: Sendable, Equatable {
  package var name: String
  /// The job file's path; nil if the job came from the command line alone.
  package var file: String?
  /// A sentence on its purpose; empty if there is none.
  package var description: String
  /// The part of the job's entries that the report covers; nil for all.
  package var shard: ReportedShard?
  /// 32 hexadecimal digits that follow from the settings that select the job's entries and judge them; nil if unknown.
  ///
  /// Reports of one job with different digests have different lists or different rules.
  package var digest: String?

  package init(name: String, file: String?, description: String = "", shard: ReportedShard? = nil, digest: String? = nil) {
    self.name = name
    self.file = file
    self.description = description
    self.shard = shard
    self.digest = digest
  }

  /// The name and the shard, for people: `homepage, shard 2 of 5`.
  package var title: String { shard.map { "\(name), \($0.phrase)" } ?? name }
}

/// One of the parts of a job's entries that separate runs handle.
package struct ReportedShard: Sendable, Hashable {
  /// From 1.
  package var index: Int
  /// The number of shards.
  package var count: Int
  /// The key that divides entries: `url` or `host`.
  package var rule: String

  /// The entries of all shards as the run read them; nil if it didn't read all of them, or if that is unknown.
  package var list: ReportedList?

  package init(index: Int, count: Int, by rule: String, list: ReportedList? = nil) {
    self.index = index
    self.count = count
    self.rule = rule
    self.list = list
  }

  /// `shard 2 of 5`.
  package var phrase: String { "shard \(grouped(UInt64(clamping: index))) of \(grouped(UInt64(clamping: count)))" }
}

/// Shards with equal values have read the same lists.
package struct ReportedList: Sendable, Hashable {
  /// How many entries all shards have together, including invalid and filtered ones.
  package var entries: UInt64
  /// A number that follows from them and doesn't depend on their order.
  package var fingerprint: UInt64

  package init(entries: UInt64, fingerprint: UInt64) {
    self.entries = entries
    self.fingerprint = fingerprint
  }
}
