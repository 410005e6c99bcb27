import ImagePrimitives

/// Who decides when a request may begin.
enum StartAuthority: Equatable {
  /// This downloader, by its rates.
  case own
  /// Another, who is asked.
  case granting
  /// That other grants, but some of so many downloaders may not know it yet: this one keeps to its part of the rates besides.
  case returning(workers: Int)
  /// That other would, but is away: this downloader keeps to its rates' part of one in so many, from that part of an interval on.
  case away(workers: Int, phase: Double = 0)
}

/// The times between two starts at one host and over all, by the rates that were set; zero without a rate.
struct StartRates {
  var perHostNanoseconds: UInt64 = 0
  var wholeNanoseconds: UInt64 = 0

  init() {}

  init(_ limits: DownloadLimits) {
    perHostNanoseconds = StartRate.intervalNanoseconds(ofRate: limits.perHostRate)
    wholeNanoseconds = StartRate.intervalNanoseconds(ofRate: limits.rate)
  }
}

/// Starts that are granted from outside.
extension DownloadQueue {
  /// Starts to ask for at a host, or over all where it is nil.
  struct StartDemand: Equatable {
    var host: Int?
    var count: Int
    var intervalNanoseconds: UInt64
  }

  /// Goes on by another's grants, or without them.
  mutating func setAuthority(_ authority: StartAuthority, now: MonotonicInstant) {
    let isOther = authority != self.authority
    self.authority = authority
    paceRule = authority.rule(intervalNanoseconds: rates.wholeNanoseconds)
    rules.pace = authority.rule(intervalNanoseconds: rates.perHostNanoseconds)
    rules.pace.awaited = nil
    if isOther {
      pace.change(paceRule, notBefore: authority.begin(now, intervalNanoseconds: rates.wholeNanoseconds))
    } else {
      pace.change(paceRule)
    }
    let begin = authority.begin(now, intervalNanoseconds: rates.perHostNanoseconds)
    for host in hosts.indices {
      if isOther {
        hosts[host].policy.pace.change(rules.pace, notBefore: begin)
      } else {
        hosts[host].policy.change(rules)
      }
      countFullness(host)
      announce(host)
    }
  }

  /// Lets hosts keep what they were granted until a start over all has come.
  mutating func noteAwaited() { rules.pace.awaited = paceRule.isGranted ? pace.granted.awaited : nil }

  /// Lets a host sleep until it is granted a start.
  mutating func awaitGrant(_ host: Int) {
    if hosts[host].policy.pace.want(now) { wanting.append(host) }
    sleep(host, until: MonotonicInstant(nanoseconds: .max))
  }

  /// What to ask the authority for, to be answered by ``grant(_:to:now:)``: only for what could start at once, but for the grant;
  /// without `startsNew` for hosts where something continues.
  mutating func takeDemands(startsNew: Bool) -> [StartDemand] {
    guard running < concurrency, !wanting.isEmpty || pace.wantsGrant else { return [] }
    var demands: [StartDemand] = []
    if pace.wantsGrant {
      pace.ask(waiting > 0)
      noteAwaited()
      if waiting > 0 { demands.append(demand(nil, waiting: waiting, paceRule)) }
    }
    var later: [Int] = []
    for host in wanting where hosts[host].policy.pace.wantsGrant {
      let best = hosts[host].best
      if !startsNew, let best, !best.rank.continues {
        later.append(host)
        continue
      }
      // It may rest by now, or have no room.
      let asks = best != nil && hosts[host].policy.rest <= now && hosts[host].hasRoom(rules)
      hosts[host].policy.pace.ask(asks)
      if asks {
        demands.append(demand(host, waiting: hosts[host].entries.count, rules.pace))
      } else {
        announce(host)
      }
    }
    wanting = later
    return demands
  }

  private func demand(_ host: Int?, waiting: Int, _ rule: PaceRule) -> StartDemand {
    StartDemand(
      host: host,
      count: GrantedStarts.batch(waiting: waiting, intervalNanoseconds: rule.intervalNanoseconds),
      intervalNanoseconds: rule.sharedNanoseconds
    )
  }

  /// Takes an answer, for a host or, where that is nil, for all.
  mutating func grant(_ grant: StartGrant, to host: Int?, now: MonotonicInstant) {
    guard let host else {
      pace.grant(grant, now: now)
      return noteAwaited()
    }
    guard host < hosts.count else { return }
    hosts[host].policy.pace.grant(grant, now: now)
    announce(host)
  }
}

extension StartAuthority {
  fileprivate func rule(intervalNanoseconds interval: UInt64) -> PaceRule {
    switch self {
    case .own: return PaceRule(intervalNanoseconds: interval)
    case .granting: return PaceRule(intervalNanoseconds: interval, isGranted: interval > 0, sharedNanoseconds: interval)
    case .returning(let workers):
      let part = part(of: interval, workers)
      return PaceRule(intervalNanoseconds: part, isGranted: interval > 0, sharedNanoseconds: interval)
    case .away(let workers, _): return PaceRule(intervalNanoseconds: part(of: interval, workers))
    }
  }

  private func part(of interval: UInt64, _ workers: Int) -> UInt64 {
    let (product, overflow) = interval.multipliedReportingOverflow(by: UInt64(workers))
    return overflow ? .max : product
  }

  /// Nothing begins before this that was not granted. One alone need not wait, who comes after nobody else's starts.
  fileprivate func begin(_ now: MonotonicInstant, intervalNanoseconds interval: UInt64) -> MonotonicInstant {
    guard case .away(let workers, let phase) = self else { return now }
    return now.advanced(by: .nanoseconds(Int64(min(Double(interval) * Double(workers - 1) * phase, 1e18))))
  }
}
