import ImageCaching
import ImageDownloading
package import Base
package import Lists
package import Reports

extension Job {
  /// Returns the job as one of its shards runs it: with the shard's entries, and slower if shards that run at the same time request
  /// the same hosts.
  ///
  /// Rates are divided by the number of shards at once: `rate` always, `per-host-rate` if shards are divided by URL. If they
  /// are divided by host, all requests to a host come from one shard.
  ///
  /// - Parameters:
  ///   - rule: the key that divides entries; nil: that of the job.
  ///   - atOnce: how many shards run at the same time; nil: all.
  package func sharded(_ number: ShardNumber, by rule: Shard.Rule? = nil, atOnce: Int? = nil) -> Job {
    var job = self
    let (rule, atOnce) = (rule ?? shardBy, Double(min(atOnce ?? number.count, number.count)))
    job.shard = Shard(index: number.index, count: number.count, by: rule)
    job.prefetch.limits.rate = prefetch.limits.rate.map { $0 / atOnce }
    if rule == .url { job.prefetch.limits.perHostRate = prefetch.limits.perHostRate.map { $0 / atOnce } }
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
  /// 32 hexadecimal digits computed from the keys that determine the job's entries and their verdicts, which
  /// ``JobKeys`` marks.
  ///
  /// They are the same on every machine: only the file's name of an absolute path counts, but all of a relative one.
  /// The contents of lists don't count. Values of headers, users and passwords are omitted.
  var digest: String {
    var text: [UInt8] = []
    // With its length, so that different values can't produce the same bytes.
    func add(_ key: JobKey, of job: Job) {
      let value = key.text(job)
      text += "\(key.path) \(value.utf8.count)\n\(value)\n".utf8
    }
    let keys = JobKeys.all.filter { $0.facts.contains(.inDigest) }
    for manifest in manifests {
      var job = self
      job.manifests = [manifest]
      for key in keys where key.path.hasPrefix("manifests[]") { add(key, of: job) }
    }
    for key in keys where !key.path.hasPrefix("manifests[]") { add(key, of: self) }
    return text.withUnsafeBytes { checksum(of: $0) }.hexadecimal
  }
}
