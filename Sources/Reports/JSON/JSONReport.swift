import ImagePrimitives

/// The JSON report, `prewarm.report/1`: its keys in a fixed order, a line for each of them and for each element of the long lists.
///
/// It tells all that a ``FinishedReport`` holds but the thumbnails, so that it can be read back and rendered in every other form.
///
/// What is not known is null. `hit_ratio` is hits among all entries, 0 where there are none. `failures_by_kind` and
/// `failures_by_status` count what failed in this run, not what was blacklisted before. `bytes` and `attempts` count a shared transfer
/// once. `formats` counts what was fetched and good. Durations and rates are by the monotonic clock.
///
/// - `job.shard` is the part of the job's entries that the run had, null where it had all: its `entries` are those of all shards
///   together, bad and filtered ones among them, and its `fingerprint` follows from them; both are there where all were read.
///   `job.digest` tells whether two reports are of the same job and rules.
/// - `signal` is the name of what interrupted the run; `breakage` a sentence on why it could not finish.
/// - `outstanding` are entries of a queue that workers had not finished when the wait for them ended.
/// - `fail_on` are the rules: a limit is a count, `{"fraction": 0.01}`, or null where the rule is off. `verdict` names those that were
///   broken, and `standings` how many failures counted, and how many were let off.
/// - `failure_groups` are failures by kind and status with their first examples, the largest group first.
/// - `bounded_by` says what held the run up longest and what to do; `bound_shares` for how much of the run each part did, the largest
///   first. What is left of it nobody held up: it began, or ended.
/// - `timeline` has what was done in each step of the run; `requests` what repeats the request of an entry, by variant and edge.
public struct JSONReport: ReportForm {
  /// A writer.
  public init() {}

  /// Appends the report and a line feed.
  public func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    var json = JSONComposer(output: OutputBuffer(capacity: 65_536))
    json.object(.lines) { json in
      write(runOf: report, &json)
      write(judgementOf: report, &json)
      write(countsOf: report, &json)
      write(timeline: report.timeline, &json)
      write(cacheOf: report.end, &json)
      write(listsOf: report, &json)
      json.array("warnings", report.warnings) { $0.element($1) }
      json.write("peak_memory_bytes", report.end.peakMemoryBytes)
      json.write("bounded_by", report.end.boundedBy)
      json.object("bound_shares") { json in
        for share in report.end.boundShares { json.write(key: share.name, share.fraction, decimals: 3) }
      }
    }
    json.output.withUnsafeBytes { output.append($0) }
    output.appendLiteral("\n")
  }

  private func write(runOf report: FinishedReport, _ json: inout JSONComposer) {
    json.write("schema", "prewarm.report/1")
    json.write("prewarm", report.version)
    json.object("job") { json in
      json.write("name", report.job.name)
      json.write("file", report.job.file)
      if let shard = report.job.shard {
        json.object("shard") { json in
          json.write("index", UInt64(clamping: shard.index))
          json.write("count", UInt64(clamping: shard.count))
          json.write("by", shard.rule)
          if let list = shard.list {
            json.write("entries", list.entries)
            json.write("fingerprint", hexadecimal(list.fingerprint))
          }
        }
      } else {
        json.writeNull("shard")
      }
      json.write("digest", report.job.digest)
    }
    json.write("started_at", report.startedAt?.iso8601)
    json.write("finished_at", report.end.finishedAt?.iso8601)
    // To the nanosecond: the rates that follow from it come out the same when it is read back.
    json.write("duration_seconds", report.end.duration.inSeconds, decimals: 9)
    json.write("interrupted", report.end.interruption != nil)
    json.write("signal", report.end.interruption?.signalName)
    json.write("deadline_passed", report.end.isPastDeadline)
    json.write("breakage", report.end.breakage)
    json.write("manifests_read", report.end.areManifestsRead)
    json.write("empty", report.end.isEmpty)
    json.write("outstanding", report.end.outstanding)
    json.write("exit_status", UInt64(report.exitStatus.rawValue))
  }

  private func write(cacheOf end: RunEnd, _ json: inout JSONComposer) {
    if let cache = end.cache {
      json.object("cache") { json in
        json.write("directory", cache.directory)
        json.write("namespace", cache.namespace)
        json.write("entries", cache.entries)
        json.write("body_bytes", cache.bodyBytes)
        json.write("disk_bytes", cache.diskBytes)
        json.write("max_bytes", cache.maximumBytes)
        json.write("trimmed_entries", cache.trimmedEntries)
        json.write("expired_entries", cache.expiredEntries)
        json.write("evicted_from_this_run", cache.evictedFromThisRun)
        json.write("fresh_until", cache.freshUntil?.iso8601Seconds)
      }
    } else {
      json.writeNull("cache")
    }
    if let blacklist = end.blacklist {
      json.object("blacklist") { json in
        json.write("entries", blacklist.entries)
        json.write("added", blacklist.added)
        json.write("removed", blacklist.removed)
      }
    } else {
      json.writeNull("blacklist")
    }
  }
}
