import ImageDownloading
import Base
import Reports

/// The bottleneck of a run, and each part's share of it.
struct Bound {
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

  /// The main bottleneck and its remedy; nil if there was none.
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

extension Bound.Part {
  fileprivate var bottlenecks: [Bottleneck] { Bottleneck.allCases.filter { Self(of: $0) == self } }

  fileprivate init(of bottleneck: Bottleneck) {
    switch bottleneck {
    case .concurrency, .answers, .retry: self = .network
    case .hosts: self = .perHost
    case .rate, .pause: self = .rate
    case .coding: self = .decoding
    case .writing: self = .disk
    case .input, .reading: self = .manifest
    case .lookingUp, .transferring, .checking: self = .processor
    }
  }
}
