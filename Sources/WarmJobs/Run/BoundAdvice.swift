import ImageDownloading
import ImageManaging
import ImagePrimitives
import Manifests

extension Job {
  /// The bottleneck and the remedy, as one sentence.
  func advice(against bottleneck: Bottleneck, peakRunning: Int, unreachable: FailureReason? = nil) -> String {
    let used = "\(min(peakRunning, prefetch.limits.concurrency)) of \(prefetch.limits.concurrency) transfers used"
    switch bottleneck {
    case .concurrency:
      return "all \(prefetch.limits.concurrency) transfers waited for their servers; raise prefetch.concurrency"
    case .answers:
      return "\(used), which waited for their servers; nothing else could start"
    case .hosts where prefetch.limits.isAdaptive:
      return "\(used); raise prefetch.per-host, or switch prefetch.adaptive off"
    case .hosts:
      return "\(used); raise prefetch.per-host"
    case .rate:
      return "requests waited for their time; raise \(slowestRateKey)"
    case .pause, .retry:
      if let advice = unreachable.flatMap(advice) { return advice }
      return waitingAdvice(bottleneck)
    case .coding:
      return "images came faster than all cores decoded them; use more cores\(lighterVerification)"
    case .writing:
      return "images came faster than the cache was written; put cache.directory on a faster disk"
    case .input:
      return "URLs came slower than they were fetched; give them faster"
    case .reading where prefetch.order == .lifo:
      return "all URLs had to be read before the first was fetched; use prefetch.order: fifo, or give fewer"
    case .reading:
      return "reading URLs took longer than all else; give fewer, or plain text"
    case .lookingUp:
      return "the thread that looks up what is cached and writes reports was always busy; use a faster core"
    case .transferring:
      return
        "the thread that makes transfers was always busy; use a faster core, or run parts of the job in processes of their own"
    case .checking:
      return "the thread that checks what came was always busy; use a faster core"
    }
  }

  private func waitingAdvice(_ bottleneck: Bottleneck) -> String {
    bottleneck == .pause
      ? "hosts that answered 429 or 503, or only failed, were left alone; ask them for less with prefetch.per-host-rate"
      : "requests that failed waited for their next try; lower request.backoff or request.retries"
  }

  /// What helps with a host that can't be reached; nil for another reason.
  private func advice(_ unreachable: FailureReason) -> String? {
    switch unreachable {
    case .unresolved(let name): "\(name) doesn't resolve; check the name and DNS"
    case .noConnection: "\(unreachable.finding); check the address, the port and whether the server runs"
    default: nil
    }
  }

  /// The key that makes decoding cheaper.
  private var lighterVerification: String {
    if transform != nil { return "" }
    return verify.rules.isStrict ? ", or verify.strict: false" : verify.rules.depth == .full ? ", or verify.decode: header" : ""
  }

  /// The key of the rate that holds a run down.
  private var slowestRateKey: String {
    switch (prefetch.limits.rate, prefetch.limits.perHostRate) {
    case (_?, nil): "prefetch.rate"
    case (nil, _): "prefetch.per-host-rate"
    case (_?, _?): "prefetch.rate or prefetch.per-host-rate"
    }
  }
}
