import Base

/// When requests to a host that keeps failing stop: the circuit breaker of Nygard's "Release It!".
///
/// Each attempt that fails transiently counts. Responses reset the count, 404 included, even if the body is cut off; 429 and 503, which ask
/// for a pause, neither count nor reset it. After ``failures`` in a row the host gets only single requests that try it, and the first
/// response to anything lets all downloads resume. How often they try depends on ``DownloadOptions/patience-swift.property``:
///
/// - Downloads that someone waits for fail at once as `host-down`, except for one after each pause, which tries the host. The pauses begin
///   with ``firstPause``, double, and stay at ``longestPause``: a host is back for them within seconds.
/// - Downloads of batches wait: one tries the host after each ``batchPause``. After ``batchTries`` failed tries all of them fail as
///   `host-down`, without a request, for ``batchDownFor``.
///
/// Both may use one host at the same time, each with its own pauses.
public struct CircuitBreaker: Sendable, Hashable {
  /// Consecutive failures after which requests to the host stop; 20 by default, at least 1.
  public var failures: Int
  /// The first pause of downloads that someone waits for; 0.5 s by default.
  public var firstPause: Duration
  /// The longest pause of downloads that someone waits for; 5 s by default.
  public var longestPause: Duration
  /// The pause of batches; 30 s by default. A host that can't be reached (connection refused, name not resolved) isn't overloaded, so its
  /// pauses are shorter: one per retry of the download, each at most as long as its backoff and 2 s.
  public var batchPause: Duration
  /// Failed tries after which downloads of batches fail; 3 by default, at least 1.
  public var batchTries: Int
  /// How long downloads of batches fail before one of them tries the host again; 5 minutes by default. See
  /// ``ImageDownloader/forgetFailures()``.
  public var batchDownFor: Duration

  /// Creates a circuit breaker. Numbers below 1 and negative times make the downloader's `init` throw.
  public init(
    failures: Int = 20,
    firstPause: Duration = .milliseconds(500),
    longestPause: Duration = .seconds(5),
    batchPause: Duration = .seconds(30),
    batchTries: Int = 3,
    batchDownFor: Duration = .seconds(300)
  ) {
    self.failures = failures
    self.firstPause = firstPause
    self.longestPause = longestPause
    self.batchPause = batchPause
    self.batchTries = batchTries
    self.batchDownFor = batchDownFor
  }

  /// What is wrong with it, in one sentence; nil if it can be used.
  var invalidReason: String? {
    if failures < 1 { return "circuitBreaker: failures must be at least 1, not \(failures)" }
    if batchTries < 1 { return "circuitBreaker: batchTries must be at least 1, not \(batchTries)" }
    for (name, time) in [
      ("firstPause", firstPause), ("longestPause", longestPause), ("batchPause", batchPause), ("batchDownFor", batchDownFor),
    ] where time < .zero { return "circuitBreaker: \(name) must not be negative" }
    return nil
  }

  private static let longestUnreachablePause = Duration.seconds(2)

  /// The rules for an unreachable host, before pause `number` of batches, counted from 0.
  func forUnreachable(_ request: HostRequest, pause number: Int) -> CircuitBreaker {
    var rules = self
    // A download that someone waits for says nothing about the retries of batches.
    if !request.isAwaited { rules.batchTries = min(batchTries, request.retries) }
    rules.batchPause = min(batchPause, request.backoff.limit(beforeRetry: number), Self.longestUnreachablePause)
    return rules
  }

  /// The pause of downloads that someone waits for after so many failed tries.
  func pause(afterTries number: Int) -> Duration {
    Backoff(initial: firstPause, maximum: longestPause).limit(beforeRetry: number)
  }
}

/// The state of a ``CircuitBreaker`` for one host.
struct BreakerState {
  /// The tries of one kind of downloads.
  private struct Tries {
    /// None begins before then.
    var next: MonotonicInstant
    var failed = 0
    var isRunning = false

    mutating func fail(pause: Duration, now: MonotonicInstant) {
      (next, isRunning) = (now.advanced(by: pause), false)
    }

    /// Returns whether one was running.
    @discardableResult
    mutating func abandon() -> Bool {
      guard isRunning else { return false }
      (next, isRunning) = (MonotonicInstant(nanoseconds: 0), false)
      return true
    }
  }

  /// While requests stop.
  private struct Open {
    /// Of downloads that someone waits for.
    var awaited: Tries
    var batch: Tries
    /// Whether downloads of batches fail instead of waiting.
    var isDown: Bool
  }

  /// How many requests in a row have failed while all get through.
  private var failures = 0
  private var open: Open?

  enum Change: Equatable {
    case none, paused, recovered, down
  }

  /// When the next try of downloads of that kind may begin.
  func earliestStart(isAwaited: Bool) -> MonotonicInstant {
    guard let open else { return MonotonicInstant(nanoseconds: 0) }
    return isAwaited ? open.awaited.next : open.batch.next
  }

  /// Whether it gets requests as usual, even if some have failed.
  var isClosed: Bool { open == nil }

  /// Whether it counts as down for batches, even if the next request may try it.
  var isDown: Bool { open?.isDown == true }

  /// Whether there are no failures.
  var isCalm: Bool { isClosed && failures == 0 }

  /// Whether a download that someone waits for is trying it.
  var isTriedForWaiting: Bool { open?.awaited.isRunning == true }

  /// Whether a download of that kind fails now instead of waiting.
  func refuses(isAwaited: Bool, at now: MonotonicInstant) -> Bool {
    guard let open else { return false }
    return isAwaited
      ? open.awaited.isRunning || open.awaited.next > now : open.isDown && open.batch.next > now && !open.batch.isRunning
  }

  /// Handles the start of a request, which is a try if the breaker isn't closed.
  mutating func start(isAwaited: Bool) {
    if isAwaited { open?.awaited.isRunning = true } else { open?.batch.isRunning = true }
  }

  /// The number of pauses of batches since its last response.
  var pausesSoFar: Int { open.map { $0.batch.failed + 1 } ?? 0 }

  /// Handles a transient failure. While the breaker is open, only failed tries count.
  mutating func fail(_ request: HostRequest, by rules: CircuitBreaker, now: MonotonicInstant) -> Change {
    guard var open else {
      failures += 1
      if failures < rules.failures { return .none }
      let isDown = rules.batchTries == 0
      open = Open(
        awaited: Tries(next: now.advanced(by: rules.pause(afterTries: 0))),
        batch: Tries(next: now.advanced(by: isDown ? rules.batchDownFor : rules.batchPause)),
        isDown: isDown
      )
      return isDown ? .down : .paused
    }
    guard request.isTry else { return .none }
    defer { self.open = open }
    if request.isAwaited {
      open.awaited.failed += 1
      open.awaited.fail(pause: rules.pause(afterTries: open.awaited.failed), now: now)
      return .paused
    }
    if !open.isDown { open.batch.failed += 1 }
    open.isDown = open.isDown || open.batch.failed >= rules.batchTries
    open.batch.fail(pause: open.isDown ? rules.batchDownFor : rules.batchPause, now: now)
    return open.isDown ? .down : .paused
  }

  /// Handles a response that doesn't ask for a pause.
  mutating func recover() -> Change {
    defer { forget() }
    return isClosed ? .none : .recovered
  }

  mutating func forget() { self = BreakerState() }

  /// A try has ended. If it had no result, another may follow at once.
  mutating func endTry(isAwaited: Bool) {
    guard var open else { return }
    if isAwaited { open.awaited.abandon() } else if open.batch.abandon() { open.isDown = false }
    self.open = open
  }
}
