import ImageDownloading
import ImageManaging
import Base
import Lists
import Reports

/// The bottleneck of a run, and each part's share of it.
struct RunBottleneck {
  /// A part with a smaller share of the run isn't the bottleneck.
  private static let leastShare = 0.25
  /// Nor is a part with less time than this: such a short run needs no advice.
  private static let leastNanoseconds = 50e6
  /// Smaller shares aren't reported.
  private static let leastReportedShare = 0.0005

  /// A part of the pipeline that a person can change; raw values are its names in reports.
  enum Part: String, CaseIterable {
    case network
    case perHost = "per-host"
    case rate
    case decoding
    case disk
    case manifest
    case processor = "cpu"
  }

  let sentence: String?
  /// The shares of the run in which each part was the bottleneck, the largest first. In the rest of the run, work hadn't started or had
  /// finished.
  let shares: [BottleneckShare]

  /// - Parameters:
  ///   - peakRunning: the most transfers that ran at once.
  ///   - unreachable: why a host can't be reached; nil if all can.
  init(_ times: BottleneckTimes, peakRunning: Int, unreachable: FailureReason? = nil, job: Job, duration: Duration) {
    let nanoseconds = max(1, Double(duration.wholeNanoseconds))
    let parts = Part.allCases
      .map { part in (part, Double(part.bottlenecks.reduce(0) { $0 + times[$1] })) }
      .sorted { $0.1 > $1.1 }
    shares = parts.map { BottleneckShare(name: $0.rawValue, fraction: min(1, $1 / nanoseconds)) }
      .filter { $0.fraction >= Self.leastReportedShare }
    guard let (part, time) = parts.first, time > max(nanoseconds * Self.leastShare, Self.leastNanoseconds),
      let cause = part.bottlenecks.max(by: { times[$0] < times[$1] })
    else {
      sentence = nil
      return
    }
    sentence = "\(part.rawValue): \(job.advice(against: cause, peakRunning: peakRunning, unreachable: unreachable))"
  }
}

extension RunBottleneck.Part {
  fileprivate var bottlenecks: [Bottleneck] { Bottleneck.allCases.filter { Self(of: $0) == self } }

  fileprivate init(of bottleneck: Bottleneck) {
    switch bottleneck {
    case .concurrency, .answers, .retry: self = .network
    case .hosts, .slowHosts: self = .perHost
    case .rate, .pause: self = .rate
    case .coding: self = .decoding
    case .writing: self = .disk
    case .input, .reading: self = .manifest
    case .lookingUp, .transferring, .checking: self = .processor
    }
  }
}

extension Job {
  func advice(against bottleneck: Bottleneck, peakRunning: Int, unreachable: FailureReason? = nil) -> String {
    let used = "\(min(peakRunning, prefetch.limits.concurrency)) of \(prefetch.limits.concurrency) transfers used"
    switch bottleneck {
    case .concurrency:
      return "all \(prefetch.limits.concurrency) transfers were waiting for servers; raise prefetch.concurrency"
    case .answers:
      return "\(used), all waiting for servers; there was nothing else to start"
    case .hosts:
      return "\(used); raise \(perHostKey)"
    case .slowHosts:
      return "\(used), since hosts got slow or failed with more; prefetch.adaptive: false ignores that"
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

  private func advice(_ unreachable: FailureReason) -> String? {
    switch unreachable {
    case .unresolved(let name): "\(name) doesn't resolve; check the name and DNS"
    case .unusedProxy: JobWording().sentence(unreachable)
    case .noConnection: "\(unreachable.finding); check the address, the port and whether the server runs"
    default: nil
    }
  }

  private var lighterVerification: String {
    if transform != nil { return "" }
    return verify.rules.isStrict ? ", or verify.strict: false" : verify.rules.depth == .full ? ", or verify.decode: header" : ""
  }

  private var perHostKey: String {
    hosts.contains { $0.limits.perHost != nil } ? "prefetch.per-host or that of hosts" : "prefetch.per-host"
  }

  private var slowestRateKey: String {
    let keys = [
      ("prefetch.rate", prefetch.limits.rate), ("prefetch.per-host-rate", prefetch.limits.perHostRate),
      ("per-host-rate of hosts", hosts.lazy.compactMap(\.limits.perHostRate).min()),
    ].filter { $0.1 != nil }.map(\.0)
    return keys.isEmpty ? "prefetch.per-host-rate" : JobForm.alternatives(keys)
  }
}
