package import ImageManaging
package import Base
package import Lists
package import Reports
import ImageCaching
import ImageDownloading

/// A validated job: every key of the job file, in the options of the modules that use it.
///
/// Created from ``JobFile``; all values have specific types. ``JobKeys`` defines which key sets what.
package struct Job: Sendable {
  /// Lower-case letters, digits and `-`.
  package var name = ""
  package var description = ""
  /// The job file's path as given; nil for a job made from the command line alone.
  package var file: String?
  package var manifests: [List] = []
  package var prefetch = Prefetch()
  package var request = Request()
  /// The settings of some hosts; for each host, only those with the most specific pattern count.
  package var hosts: [HostRule] = []
  package var cache = Cache()
  package var verify = Verify()
  /// The transformation of stored images. Default: nil, which stores the original.
  package var transform: Transform?
  /// The rules for permanent failures; ``Cache/disk`` has their lifetime.
  package var blacklist = BlacklistRules()
  /// The targets of reports. A file, or standard output, occurs only once.
  package var reports = [ReportTarget()]
  package var notifications: [Notification] = []
  package var shardBy = Shard.Rule.url
  /// The shard whose entries are fetched. Default: nil, which means all. See ``sharded(_:)``.
  package var shard: Shard?
  /// The shard's entries, if a plan has divided them; nil: the lists are read.
  var plannedEntries: PlannedEntries?
  package var lint = Lint()
  /// The limits beyond which the exit status is 2.
  package var failOn = FailOn()
  /// An earlier report whose failures don't count; nil if all count.
  package var baseline: JobPath?

  /// The JSON report of the last run, which this run replaces.
  var lastReport: JobPath? {
    for case .file(let path) in reports.lazy.filter({ $0.format == .json }).map(\.destination) { return path }
    return nil
  }

  /// The rules about delivery that a run applies: a rule with a limit is on.
  package var appliedLint: Lint {
    var lint = lint
    lint.cachesOriginals = transform == nil
    for rule in failOn.lint.keys where lint.severity(rule) == .off { lint[rule] = .warn }
    return lint
  }

  /// The limits that judge a run: a rule of severity `fail` without a limit allows no finding.
  package var appliedLimits: FailOn {
    var limits = failOn
    for rule in LintRule.allCases where lint.severity(rule) == .fail && limits.lint[rule] == nil { limits.lint[rule] = .count(0) }
    return limits
  }

  init() {}
}

extension Job {
  package struct ReportTarget: Sendable, Hashable {
    package enum Destination: Sendable, Hashable {
      case standardOutput
      case file(JobPath)
    }

    package var format: ReportFormat
    package var destination: Destination
    /// Whether a JUnit report also lists successes.
    package var listsSuccesses: Bool

    package init(format: ReportFormat = .text, destination: Destination = .standardOutput, listsSuccesses: Bool = false) {
      (self.format, self.destination, self.listsSuccesses) = (format, destination, listsSuccesses)
    }
  }
}

extension Job {
  /// The entries of a shard in a file of their own.
  struct PlannedEntries: Sendable {
    var path: String
    var lists: [ShardPlan.List]
    var count: Int
    /// Those of all shards.
    var all: ReportedList
    /// Images that were stored since then are those of an earlier attempt.
    var plannedAt: Timestamp
  }
}

/// A path as the user wrote it, and the folder that it is relative to.
package struct JobPath: Sendable, Hashable {
  package var written: String
  /// The absolute path of the folder: the job file's, or the current one for paths of the command line.
  package var folder: String

  package init(_ written: String, in folder: String) { (self.written, self.folder) = (written, folder) }

  /// Why a path that something is written to is wrong, with what to do: it is a URL; nil if it isn't.
  package static func remoteTarget(_ path: String) -> String? {
    guard let colon = path.firstRange(of: "://"),
      path[..<colon.lowerBound].allSatisfy({ $0.isLetter || $0.isNumber || "+-.".contains($0) }),
      path.first?.isLetter == true
    else { return nil }
    return "prewarm writes files, not URLs; write a file, and copy it in the next step, as with aws s3 cp or gsutil cp"
  }

  /// The absolute path. For a pattern, only `written` may be read as one: the folder's name may contain `*` itself.
  package var absolute: String {
    if written.hasPrefix("/") { return written }
    return folder.hasSuffix("/") ? folder + written : "\(folder)/\(written)"
  }

  /// The absolute path without `.`, `..` and doubled slashes, normalised as text only: for comparison, not for opening.
  var normalized: String {
    var parts: [Substring] = []
    for part in absolute.split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return "/" + parts.joined(separator: "/")
  }
}

extension Job {
  /// Returns the job as one of its shards runs it: with the shard's entries, and slower if `atOnce` shards, by default all,
  /// request the same hosts at the same time.
  ///
  /// Rates are divided by that number: `rate` always, `per-host-rate`, that of each host too, if shards are divided by URL. By host, all requests to a
  /// host come from one shard.
  package func sharded(_ number: ShardNumber, by rule: Shard.Rule? = nil, atOnce: Int? = nil) -> Job {
    var job = self
    let (rule, atOnce) = (rule ?? shardBy, Double(min(atOnce ?? number.count, number.count)))
    job.shard = Shard(index: number.index, count: number.count, by: rule)
    job.prefetch.limits.rate = prefetch.limits.rate.map { $0 / atOnce }
    if rule == .url {
      job.prefetch.limits.perHostRate = prefetch.limits.perHostRate.map { $0 / atOnce }
      for index in hosts.indices { job.hosts[index].limits.perHostRate = hosts[index].limits.perHostRate.map { $0 / atOnce } }
    }
    return job
  }

  /// The shard that this job runs, as reports name it; nil if it runs all entries.
  package var reportedShard: ReportedShard? { shard.map { ReportedShard($0) } }

  /// The shard of the entry with that URL; nil if the job isn't divided.
  package func reportedShard(of url: BaseURL) -> ReportedShard? { shard.map { ReportedShard($0.holder(of: url)) } }

  package var identity: JobIdentity {
    JobIdentity(name: name, file: file, description: description, shard: reportedShard, digest: digest)
  }
}

extension ReportedShard {
  fileprivate init(_ shard: Shard) { self.init(index: shard.index, count: shard.count, by: shard.rule.rawValue) }
}

extension Job {
  /// 32 hexadecimal digits of the keys that determine the job's entries and their verdicts, which ``JobKeys`` marks.
  ///
  /// They are the same on every machine: of an absolute path only the file's name counts. The contents of lists don't count, nor
  /// do values of headers, users and passwords.
  var digest: String {
    var text: [UInt8] = []
    // With its length, so that different values can't produce the same bytes.
    func add(_ key: JobKey, of job: Job) {
      let value = key.text(job)
      text += "\(key.path) \(value.utf8.count)\n\(value)\n".utf8
    }
    let keys = JobKeys.all.filter { $0.facts.contains(.inDigest) }
    for list in manifests {
      var job = self
      job.manifests = [list]
      for key in keys where key.path.hasPrefix("manifests[]") { add(key, of: job) }
    }
    for key in keys where !key.path.hasPrefix("manifests[]") { add(key, of: self) }
    return text.withUnsafeBytes { checksum(of: $0) }.hexadecimal
  }
}
