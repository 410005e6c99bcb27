import ImageCaching
import ImageDownloading
import ImagePrimitives
public import ImageURLs
import Manifests
public import Reports

extension Job {
  /// The job as one of its shards runs it: with its entries alone, and slower where all of them ask the same hosts.
  ///
  /// What a rate allows is divided by the number of shards: `rate` always, `per-host-rate` where shards are cut by URL. By host,
  /// a host's requests all come from one shard.
  public func sharded(_ number: ShardNumber) -> Job {
    var job = self
    job.shard = Shard(index: number.index, count: number.count, by: shardBy)
    job.prefetch.limits.rate = prefetch.limits.rate.map { $0 / Double(number.count) }
    if shardBy == .url { job.prefetch.limits.perHostRate = prefetch.limits.perHostRate.map { $0 / Double(number.count) } }
    return job
  }

  /// The shard that this job runs, as reports name it; nil: all of its entries.
  public var reportedShard: ReportedShard? { shard.map { ReportedShard($0) } }

  /// The shard that an entry of that URL is in, of those that the job is cut into; nil if it is not cut.
  public func reportedShard(of url: BaseURL) -> ReportedShard? { shard.map { ReportedShard($0.holder(of: url)) } }

  package var identity: JobIdentity {
    JobIdentity(name: name, file: file, description: description, shard: reportedShard, digest: digest)
  }
}

extension ReportedShard {
  fileprivate init(_ shard: Shard) { self.init(index: shard.index, count: shard.count, by: shard.rule.rawValue) }
}

extension Job {
  /// 32 hexadecimal digits that follow from what decides which entries the job has and how they are judged: from the keys that are
  /// described so in ``JobKeys``.
  ///
  /// They are the same on every machine: of an absolute path the file's name counts, of a relative one all of it. What is in the
  /// lists is not read. Values of headers, users and passwords are left out.
  var digest: String {
    var text: [UInt8] = []
    // With its length, so that different values cannot come to the same bytes.
    func add(_ key: JobKey, of job: Job) {
      let value = key.text(job)
      text += "\(key.path) \(value.utf8.count)\n\(value)\n".utf8
    }
    let keys = JobKeys.all.filter(\.isInDigest)
    for manifest in manifests {
      var job = self
      job.manifests = [manifest]
      for key in keys where key.path.hasPrefix("manifests[]") { add(key, of: job) }
    }
    for key in keys where !key.path.hasPrefix("manifests[]") { add(key, of: self) }
    return text.withUnsafeBytes { checksum(of: $0) }.hexadecimal
  }
}
