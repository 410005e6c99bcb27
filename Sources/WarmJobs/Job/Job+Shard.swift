import Manifests
import Reporting

extension Job {
  /// The job as one of its shards runs it: with its entries alone, and slower where all of them ask the same hosts.
  ///
  /// What a rate allows is divided by the number of shards: `rate` always, `per-host-rate` where shards are cut by URL. By host,
  /// a host's requests all come from one shard.
  public func sharded(_ number: ShardNumber) -> Job {
    var job = self
    job.shard = Shard(index: number.index, count: number.count, by: shardBy)
    job.prefetch.rate = prefetch.rate.map { $0 / Double(number.count) }
    if shardBy == .url { job.prefetch.perHostRate = prefetch.perHostRate.map { $0 / Double(number.count) } }
    return job
  }

  /// How reports name it.
  var identity: JobIdentity {
    JobIdentity(
      name: name,
      file: file,
      shard: shard.map { ReportedShard(index: $0.index, count: $0.count, by: $0.rule.rawValue) },
      digest: digest
    )
  }
}
