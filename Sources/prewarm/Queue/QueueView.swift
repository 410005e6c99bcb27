#if Queue
import ImageDownloading
import ImagePrimitives
import QueuedJobs
import RedisClient
import Reports
import WarmJobs
import WorkQueues

/// A queue as `prewarm queue status` shows it.
struct QueueView {
  let status: QueueStatus
  let location: QueueLocation
  /// Finished URLs per second; nil if that wasn't measured.
  var rate: Double?

  private var progress: QueueProgress { status.progress }

  /// The rate limits of the job over all workers; nil if the job can't be read here, for example without one of its variables.
  private var limits: (rate: Double?, perHostRate: Double?)? {
    let job = status.queue.job.job(environment: JobLoading.environment())
    return job.map { ($0.prefetch.limits.rate, $0.prefetch.limits.perHostRate) }
  }

  private var state: String {
    if progress.isReported { return "reported" }
    if progress.isDrained { return "done" }
    return progress.isSealed ? "filled" : "filling"
  }

  private var statePhrase: String {
    switch state {
    case "reported": "done, reports written"
    case "done": "done, reports not written yet (prewarm enqueue --wait)"
    case "filled": progress.workers == 0 ? "no worker (prewarm worker)" : "in progress"
    default: "being filled"
    }
  }

  private var outcomes: [(LoadOutcome, UInt64)] {
    zip(LoadOutcome.allCases, progress.counts).filter { $0.1 > 0 }.map { ($0.0, $0.1) }
  }

  // MARK: Text

  var text: String {
    let total = progress.written.entries
    let title = status.queue.job.title.map { "\($0)" } ?? "written by another version of prewarm"
    var lines = [
      "queue      \(location.name) at \(location.address)",
      "job        \(title); \(statePhrase)",
      "enqueued   \(status.queue.job.created.shortText)",
      "URLs       \(grouped(total))\(progress.isSealed ? "" : " so far")",
      row("waiting", status.waitingEntries),
      row("held", status.heldEntries),
      row("done", progress.finalEntries),
    ]
    if !outcomes.isEmpty {
      let parts = outcomes.map { "\(grouped($0.1)) \($0.0.name.replacing("_", with: "-"))" }
      lines.append("outcomes   \(parts.joined(separator: ", "))")
    }
    lines.append("workers    \(grouped(UInt64(status.workers.count)))")
    for worker in status.workers {
      let held = "\(counted(worker.heldEntries, "URL")) held"
      lines.append("  \(worker.name): \(held), seen \(elapsed(worker.silence)) ago")
    }
    lines += rateLines
    return lines.map { "\(escapedForTerminal($0))\n" }.joined()
  }

  private func row(_ name: String, _ count: UInt64) -> String {
    "  \(name.padded(to: 9))\(grouped(count).rightAligned(to: 11))  \(percent(count, of: progress.written.entries).rightAligned(to: 7))"
  }

  private var rateLines: [String] {
    var lines: [String] = []
    if let rate {
      let left = status.waitingEntries &+ status.heldEntries
      let end = rate > 0 && progress.isSealed ? ", \(elapsed(.seconds(Double(left) / rate))) left" : ""
      lines.append("rate       \(Reports.rate(rate))\(end)")
    }
    let parts = [(limits?.rate, ""), (limits?.perHostRate, " per host")].compactMap { limit, what in
      limit.map { "\(Reports.rate($0))\(what)" }
    }
    if !parts.isEmpty {
      let sharing = counted(UInt64(status.workersSharingRates), "worker")
      lines.append("limits     \(parts.joined(separator: ", ")), shared by \(sharing) with work")
    }
    for pause in status.pauses {
      lines.append("paused     \(shown(pause.origin)): \(elapsed(pause.left)) left, after status \(pause.status)")
    }
    return lines
  }

  // MARK: JSON

  var json: JSONTree {
    let title = status.queue.job.title
    return .sorted([
      "queue": location.name.description,
      "server": location.address.description,
      "job": title?.name,
      "job_file": title?.file,
      "state": state,
      "enqueued_at": status.queue.job.created.iso8601,
      "entries": JSONTree.sorted([
        "total": progress.written.entries,
        "waiting": status.waitingEntries,
        "held": status.heldEntries,
        "done": progress.finalEntries,
      ]),
      "outcomes": JSONTree.object(outcomes.map { ($0.0.name, $0.1.jsonTree) }),
      "workers": JSONTree.array(
        status.workers.map { worker in
          .sorted([
            "name": worker.name,
            "held": worker.heldEntries,
            "silent_ms": worker.silence.wholeMilliseconds,
          ])
        }
      ),
      "entries_per_second": rate,
      "rate_limit_per_second": limits?.rate,
      "rate_limit_per_host_per_second": limits?.perHostRate,
      "workers_sharing_rates": status.workersSharingRates,
      "paused_hosts": JSONTree.array(
        status.pauses.map { pause in
          .sorted(["origin": shown(pause.origin), "left_ms": pause.left.wholeMilliseconds, "status": pause.status])
        }
      ),
    ])
  }
}
#endif
