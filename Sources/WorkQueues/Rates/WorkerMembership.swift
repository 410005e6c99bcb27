#if Queue
import ImagePrimitives

/// One worker's membership among the workers of a queue, and the part of their rates that it may use.
///
/// Each worker reports every tenth of a second whether it has work and which part it uses; Redis replies with the part that it
/// may use from now on (``MembershipScripts/beat``). A part grows only after Redis has recorded that, and shrinks before Redis
/// records it: so the parts of all workers never add up to more than the whole.
///
/// - **Redis is away.** Each worker keeps its part, or has none if it never got one. No part grows until all must be
///   back.
/// - **This worker was stopped**, for example by SIGSTOP, for longer than its lease. Redis may have given its part to
///   others, so it starts nothing until Redis replies. If Redis is away, that lasts for ``Terms/longestHold``.
/// - **Redis refuses.** Other workers can't know of this worker; it takes an even part, and a warning reports it.
///
/// Two limits remain, since a worker can't know whether Redis is away for all or only for itself:
///
/// - A worker that alone can't reach Redis keeps its part, which others get after its lease. That lasts only while it
///   has entries, and it gets no more of them without Redis.
/// - If Redis has lost all memberships, the first worker back without a part gets the whole of the rates. That lasts
///   until another worker is back, at most ``SharedRates/Options/returnInterval``. The same data loss deletes the
///   queue.
struct WorkerMembership {
  /// All of the rates; parts are integers so that they add up exactly.
  static let whole = 1_000_000

  struct Terms {
    /// How long Redis keeps the part of a silent worker.
    var lease = Duration.seconds(10)
    /// How long a worker without work keeps its part, since more work may come.
    var idleAfter = Duration.seconds(1)
    var longestHold = Duration.seconds(10)
  }

  struct Heartbeat: Equatable {
    var hasWork: Bool
    var part: Int
  }

  let terms: Terms
  /// The part that this worker may use, out of ``whole``.
  private(set) var part = 0
  /// The last number of workers that Redis reported, including this one.
  private(set) var workers = 1
  private(set) var workersWithWork = 0

  private var hasWork = false
  private var idleSince: MonotonicInstant?
  private var isAway = false
  /// A time at which others couldn't have this worker's part yet: its last confirmed heartbeat, or a later failed
  /// attempt.
  private var contact: MonotonicInstant
  /// The part that isn't used until Redis replies, and the latest end of that.
  private var hold: (part: Int, until: MonotonicInstant)?
  private var reported = Heartbeat(hasWork: false, part: 0)

  init(terms: Terms = Terms(), now: MonotonicInstant) {
    self.terms = terms
    contact = now
  }

  var heartbeat: Heartbeat { Heartbeat(hasWork: hasWork, part: part) }

  /// Whether others wait for a heartbeat, or this worker waits for a part.
  var hasNews: Bool { hasWork != reported.hasWork || part < reported.part }

  mutating func setHasWork(_ newValue: Bool, now: MonotonicInstant) {
    idleSince = newValue ? nil : idleSince ?? now
    if newValue { hasWork = true }
  }

  /// Updates the state; must be called before each heartbeat.
  mutating func advance(now: MonotonicInstant) {
    checkLease(now)
    if isAway, let hold, now >= hold.until {
      part = hold.part
      contact = now
      self.hold = nil
    }
    // While Redis is away, others couldn't use a part given up here, and this worker couldn't get it back.
    if !isAway, let idleSince, now.since(idleSince) >= terms.idleAfter { (hasWork, part, hold) = (false, 0, nil) }
  }

  mutating func sent(_ heartbeat: Heartbeat) { reported = heartbeat }

  /// Handles Redis' reply to the heartbeat sent at `sent`.
  mutating func answered(part granted: Int, workers: Int, withWork: Int, sent: MonotonicInstant, now: MonotonicInstant) {
    (self.workers, workersWithWork, isAway) = (max(1, workers), withWork, false)
    (part, hold, contact) = (min(max(0, granted), Self.whole), nil, sent)
    // The process may have been stopped since then.
    checkLease(now)
  }

  /// Handles that Redis is unreachable.
  mutating func lost(now: MonotonicInstant) {
    checkLease(now)
    isAway = true
    contact = now
  }

  /// Handles that Redis refuses heartbeats; `workers` is the number it knows, or nil.
  mutating func refused(workers: Int?, now: MonotonicInstant) {
    if let workers { self.workers = max(1, workers) }
    lost(now: now)
    if part == 0, hold == nil { part = Self.whole / self.workers }
  }

  private mutating func checkLease(_ now: MonotonicInstant) {
    guard part > 0, now.since(contact) > terms.lease else { return }
    hold = (part, now.advanced(by: terms.longestHold))
    part = 0
  }
}
#endif
