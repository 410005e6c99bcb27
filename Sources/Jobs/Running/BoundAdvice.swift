import ImageDownloading
import ImageManaging
import Base
import Lists

extension Job {
  /// The bottleneck and the remedy, as one sentence.
  func advice(against bottleneck: Bottleneck, peakRunning: Int, unreachable: FailureReason? = nil) -> String {
    let used = "\(min(peakRunning, prefetch.limits.concurrency)) of \(prefetch.limits.concurrency) transfers used"
    switch bottleneck {
    case .concurrency:
      return "all \(prefetch.limits.concurrency) transfers were waiting for servers; raise prefetch.concurrency"
    case .answers:
      return "\(used), all waiting for servers; there was nothing else to start"
    case .hosts where prefetch.limits.isAdaptive:
      return "\(used); raise prefetch.per-host, or disable prefetch.adaptive"
    case .hosts:
      return "\(used); raise prefetch.per-host"
    case .rate:
      return "requests waited for the rate limit; raise \(slowestRateKey)"
    case .pause, .retry:
      if let advice = unreachable.flatMap(advice) { return advice }
      return waitingAdvice(bottleneck)
    case .coding:
      return "images arrived faster than all cores could decode them; use more cores\(lighterVerification)"
    case .writing:
      return "images arrived faster than the disk could store them; put cache.directory on a faster disk"
    case .input:
      return "URLs arrived more slowly than prewarm fetched them; produce them faster"
    case .reading where prefetch.order == .lifo:
      return "prefetch.order: lifo reads all URLs before it fetches the first; use fifo, or fewer URLs"
    case .reading:
      return "reading URLs took the most time; use fewer URLs, or plain text"
    case .lookingUp:
      return "the thread that looks up cached images and writes reports was always busy; use a faster core"
    case .transferring:
      return
        "the threads that make transfers were always busy; use more cores, or raise prefetch.threads"
    case .checking:
      return "the thread that checks images was always busy; use a faster core"
    }
  }

  private func waitingAdvice(_ bottleneck: Bottleneck) -> String {
    bottleneck == .pause
      ? "hosts that returned 429 or 503, or failed repeatedly, were paused; set a lower prefetch.per-host-rate"
      : "failed requests waited for their retries; lower request.backoff or request.retries"
  }

  /// The remedy for an unreachable host; nil for another reason.
  private func advice(_ unreachable: FailureReason) -> String? {
    switch unreachable {
    case .unresolved(let name): "\(name) doesn't resolve; check the name and DNS"
    case .unusedProxy: JobWording().sentence(unreachable)
    case .noConnection: "\(unreachable.finding); check the address, the port and whether the server runs"
    default: nil
    }
  }

  /// The key that makes decoding cheaper.
  private var lighterVerification: String {
    if transform != nil { return "" }
    return verify.rules.isStrict ? ", or verify.strict: false" : verify.rules.depth == .full ? ", or verify.decode: header" : ""
  }

  /// The key of the rate that limits the run.
  private var slowestRateKey: String {
    switch (prefetch.limits.rate, prefetch.limits.perHostRate) {
    case (_?, nil): "prefetch.rate"
    case (nil, _): "prefetch.per-host-rate"
    case (_?, _?): "prefetch.rate or prefetch.per-host-rate"
    }
  }
}
