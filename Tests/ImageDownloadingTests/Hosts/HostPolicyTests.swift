import Base
import Testing

@testable import ImageDownloading

/// The rules of one host, with simulated times.
struct HostPolicyTests {
  private let rules = HostRules(perHost: 8, breaker: CircuitBreaker(failures: 2, batchPause: .seconds(30), batchTries: 1))
  private let now = MonotonicInstant(nanoseconds: 1_000_000_000)

  private func refusal(by policy: HostPolicy, _ patience: Duration, at now: MonotonicInstant) -> FailureReason? {
    let host = URLOrigin(isSecure: false, hostAndPort: Array("h".utf8)[...])
    let options = DownloadOptions.forTests(retryAfterMaximum: patience)
    return policy.refusal(of: host, options, wasAsked: false, now: now)?.reason
  }

  private func paused(_ finding: String, _ patience: Duration, isDown: Bool = false) -> FailureReason {
    .waitTooLong(finding: "h:80 responded with \(finding)", maximum: patience, wasRequested: false, isHostDown: isDown)
  }

  @Test func `overlapping pauses count once`() {
    var pause = HostPause()
    pause.extend(until: now.advanced(by: .seconds(10)), status: 429, now: now)
    pause.extend(until: now.advanced(by: .seconds(10)), status: 429, now: now)
    pause.extend(until: now.advanced(by: .seconds(4)), status: 429, now: now)
    #expect(pause.totalNanoseconds == 10_000_000_000)
    let later = now.advanced(by: .seconds(8))
    pause.extend(until: later.advanced(by: .seconds(10)), status: 503, now: later)
    #expect(pause.totalNanoseconds == 18_000_000_000 && pause.remaining(at: later) == .seconds(10))
    pause.recover()
    #expect(pause.totalNanoseconds == 0 && pause.remaining(at: later) == .seconds(10))
  }

  @Test func `a host's pause requests count until another response, and once for all running requests`() {
    var pause = HostPause()
    for _ in 0..<8 { pause.note(begun: now, now: now.advanced(by: .seconds(1))) }
    #expect(pause.timesAsked == 1)
    for _ in 0..<8 { pause.note(begun: now.advanced(by: .seconds(2)), now: now.advanced(by: .seconds(3))) }
    #expect(pause.timesAsked == 2)
    pause.recover()
    #expect(pause.timesAsked == 0)
  }

  @Test func `a download that may not wait that long isn't sent until the pause ends`() {
    var policy = HostPolicy()
    policy.pause.extend(until: now.advanced(by: .seconds(10)), status: 429, now: now)
    #expect(refusal(by: policy, .seconds(10), at: now) == nil)
    #expect(refusal(by: policy, .seconds(9), at: now) == paused("429 Too Many Requests and is paused for 10 s", .seconds(9)))
    #expect(refusal(by: policy, .seconds(9), at: now.advanced(by: .seconds(10))) == nil)
    // Pauses add up until it responds otherwise.
    let later = now.advanced(by: .seconds(10))
    _ = policy.record(.busy, to: .ofBatch(), running: 1, rules, now: later)
    policy.pause.extend(until: later.advanced(by: .seconds(1)), status: 503, now: later)
    let added = paused("503 Service Unavailable and its pauses add up to 11 s", .seconds(10), isDown: true)
    #expect(refusal(by: policy, .seconds(10), at: later) == added)
    _ = policy.record(.responded(latencyNanoseconds: nil), to: .ofBatch(), running: 1, rules, now: later)
    #expect(refusal(by: policy, .seconds(10), at: later) == nil)
  }

  @Test func `a host counts as down if its only responses in a run are 429 and 503`() {
    var policy = HostPolicy()
    func isDown() -> Bool? {
      _ = policy.record(.busy, to: .ofBatch(), running: 1, rules, now: now)
      policy.pause.extend(until: now.advanced(by: .seconds(10)), status: 503, now: now)
      guard case .waitTooLong(_, _, _, let isDown) = refusal(by: policy, .zero, at: now) else { return nil }
      return isDown
    }
    #expect(isDown() == true)
    for response in [HostResponse.responded(latencyNanoseconds: nil), .cut] {
      _ = policy.record(response, to: .ofBatch(), running: 1, rules, now: now)
      #expect(isDown() == false && policy.isWorthKeeping(rules, now: now.advanced(by: .seconds(60))))
      policy.forgetFailures()
      #expect(isDown() == true)
    }
    _ = policy.record(
      .failed(ImageFailure(.httpStatus, status: 502, isTransient: true, message: "")),
      to: .ofBatch(),
      running: 1,
      rules,
      now: now
    )
    #expect(isDown() == true)
  }

  @Test func `a response in flight ends neither a pause nor its limit`() {
    var policy = HostPolicy()
    policy.pause.extend(until: now.advanced(by: .seconds(10)), status: 429, now: now)
    _ = policy.record(.responded(latencyNanoseconds: nil), to: .ofBatch(), running: 2, rules, now: now)
    #expect(policy.mayRefuse && policy.earliestStart(isAwaited: false) == now.advanced(by: .seconds(10)))
    #expect(refusal(by: policy, .seconds(9), at: now) == paused("429 Too Many Requests and is paused for 10 s", .seconds(9)))
    // The elapsed part of the pause doesn't count.
    let later = now.advanced(by: .seconds(1))
    #expect(refusal(by: policy, .seconds(9), at: later) == nil)
    policy.pause.extend(until: later.advanced(by: .seconds(12)), status: 429, now: later)
    #expect(refusal(by: policy, .seconds(11), at: later) == paused("429 Too Many Requests and is paused for 12 s", .seconds(11)))
  }

  @Test func `429 and 503 neither trip nor reset the circuit breaker`() {
    var policy = HostPolicy()
    let failure = ImageFailure(.reset, isTransient: true, message: "it hung up")
    #expect(policy.record(.failed(failure), to: .ofBatch(), running: 1, rules, now: now) == .none)
    for _ in 0..<10 { #expect(policy.record(.busy, to: .ofBatch(), running: 1, rules, now: now) == .none) }
    #expect(policy.record(.failed(failure), to: .ofBatch(), running: 1, rules, now: now) == .paused && policy.limit(rules) == 1)
    policy.start(rules, isAwaited: false, now: now)
    // The response to the try is inconclusive: another request may try.
    _ = policy.record(.busy, to: .ofBatch(isTry: true), running: 1, rules, now: now)
    policy.breaker.endTry(isAwaited: false)
    #expect(refusal(by: policy, .seconds(1), at: now) == nil && policy.limit(rules) == 1)
    policy.start(rules, isAwaited: false, now: now)
    #expect(policy.record(.failed(failure), to: .ofBatch(isTry: true), running: 1, rules, now: now) == .down)
    #expect(refusal(by: policy, .seconds(1), at: now) == .hostDown(failures: 3, last: failure))
  }

  @Test(arguments: [0, 1, 2, 9])
  func `a host that can't be reached gets a pause of the backoff for each retry, and is down then`(retries: Int) {
    let rules = HostRules(perHost: 8, breaker: CircuitBreaker(failures: 2))
    let failure = ImageFailure(.noConnection(to: "img.example.com", cause: "Connection refused"), isTransient: true)
    let refused = HostResponse.unreachable(failure)
    var policy = HostPolicy()
    func refuse(isTry: Bool = true) -> BreakerState.Change {
      policy.record(refused, to: .ofBatch(isTry: isTry, retries: retries), running: 1, rules, now: now)
    }
    #expect(refuse(isTry: false) == .none)
    var isTry = false
    for pause in [Duration.milliseconds(500), .seconds(1), .seconds(2)].prefix(retries) {
      #expect(refuse(isTry: isTry) == .paused)
      isTry = true
      #expect(policy.earliestStart(isAwaited: false) == now.advanced(by: pause))
      policy.start(rules, isAwaited: false, now: now)
    }
    #expect(refuse(isTry: isTry) == .down)
    #expect(refusal(by: policy, .zero, at: now) == .hostDown(failures: 2 + min(retries, 3), last: failure))
  }

  @Test func `only state that differs from a new host's is kept`() {
    var policy = HostPolicy()
    #expect(!policy.isWorthKeeping(rules, now: now))
    var rated = rules
    rated.intervalNanoseconds = 1_000_000_000
    policy.start(rated, isAwaited: false, now: now)
    #expect(policy.isWorthKeeping(rated, now: now))
    #expect(!policy.isWorthKeeping(rated, now: now.advanced(by: .seconds(1))))
    _ = policy.record(.failed(ImageFailure(.reset, message: "")), to: .ofBatch(), running: 1, rules, now: now)
    #expect(policy.isWorthKeeping(rules, now: now.advanced(by: .seconds(9))))
  }
}

/// The numbers of hosts.
struct HostTableTests {
  private func origin(_ number: Int) -> URLOrigin { URLOrigin(Array("http://host\(number).example/a".utf8))! }

  @Test func `a host keeps its number while used or kept, and a forgotten host's number is reused`() {
    var table = HostTable()
    let first = table.retain(origin(1))
    #expect(table.retain(origin(1)) == first && table.release(first) == false && table.release(first) == true)
    #expect(table.keep(first) == nil && table.retain(origin(1)) == first && table.release(first) == true)
    table.forget(first)
    #expect(table.retain(origin(2)) == first && table.origin(first) == origin(2))
  }

  @Test func `above the limit the oldest kept host is forgotten, unless it is in use`() {
    var table = HostTable(maximumKept: 3)
    var forgotten: [Int] = []
    for number in 0..<3 {
      _ = table.retain(origin(number))
      #expect(table.release(number) == true && table.keep(number) == nil)
    }
    _ = table.retain(origin(0))
    for number in 3..<6 {
      let given = table.retain(origin(number))
      #expect(table.release(given) == true)
      if let oldest = table.keep(given) {
        forgotten.append(oldest)
        table.forget(oldest)
      }
    }
    #expect(forgotten == [1, 2])
    #expect(table.origin(0) == origin(0))
  }
}

extension HostRequest {
  /// A request of a batch.
  static func ofBatch(isTry: Bool = false, retries: Int = 2) -> HostRequest {
    HostRequest(
      begun: MonotonicInstant(nanoseconds: 1_000_000_000),
      isAwaited: false,
      isTry: isTry,
      retries: retries,
      backoff: Backoff(initial: .milliseconds(500), maximum: .seconds(30))
    )
  }

  /// A request that someone waits for.
  static func awaited(isTry: Bool = false, retries: Int = 2) -> HostRequest {
    var request = ofBatch(isTry: isTry, retries: retries)
    request.isAwaited = true
    return request
  }
}
