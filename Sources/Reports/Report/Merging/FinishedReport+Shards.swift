import ImagePrimitives

extension FinishedReport {
  /// One report of a job whose shards were run each by itself: what one run of all entries would have reported, but for what is
  /// named below. nil where none of the files is the report of a shard.
  ///
  /// - Counts, bytes, requests and histograms are added up exactly; manifests, hosts and groups of failures are joined; see
  ///   ``init(merging:)``. Since no URL is in two shards, those of a placeholder are added up, too. Where shards are cut by
  ///   URL, it stands for at least so many: a shard that met it at fewer than ten URLs tells nothing of it.
  /// - It begins with the first shard. The shards ran side by side: the duration is that of the longest.
  /// - It is judged by the job's own rules over the joined counts. What a shard by itself was told does not matter.
  /// - It names no shard, so that it compares with the report of a run of all entries.
  /// - Left out are the cache and the blacklist, as shards may have one together or each its own; duplicates, and the timeline.
  ///
  /// Unless every shard is there once and went to its end, or to the job's own deadline, and all have read the same lists, the report
  /// has a breakage that says which did not, and so exit status 1. Of what is there twice the first counts; what is of another job,
  /// or tells no shard, is left out.
  public init?(mergingShards parts: [ReportPart]) {
    guard let gathering = ShardGathering(parts) else { return nil }
    let reports = gathering.reports
    self.init(merging: reports)
    let durations = reports.map(\.end.duration)
    end.duration = durations.contains(.zero) ? .zero : durations.max() ?? .zero
    end.interruption = nil
    end.breakage = gathering.breakage
    placeholders = Placeholder.merged(reports.flatMap(\.placeholders), adding: +)
    verdict = verdict(evicted: reports.compactMap(\.end.cache).sum(\.evictedFromThisRun))
    end.cache = nil
    end.blacklist = nil
  }

  /// By the shards' common rules, where trimming removed so many of the images that they had stored.
  private func verdict(evicted: UInt64) -> RunVerdict {
    var judged = self
    judged.end.cache = CacheSummary(directory: "", namespace: "", entries: 0, bodyBytes: 0, diskBytes: 0)
    judged.end.cache?.evictedFromThisRun = evicted
    return failOn.verdict(of: judged)
  }
}
