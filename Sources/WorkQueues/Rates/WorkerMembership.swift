#if Queue
import ImagePrimitives

/// One worker's membership among the workers of a queue, and the part of their rates that it may use.
///
/// Each worker reports every tenth of a second whether it has work and which part it uses; Redis replies with the part that it
/// may use from now on (``MembershipScripts/beat``). A part grows only after Redis has recorded that, and shrinks before Redis
/// records it: so the parts of all workers never add up to more than the whole.
///
/// - **Redis is away.** Each worker keeps its part, or has none if it never got one. Nobody's part grows until all must be back.
/// - **This worker stood still**, as by SIGSTOP, for longer than its lease. Redis may have given its part to others, so it starts
///   nothing until Redis replies. If Redis is away, that lasts for ``Terms/longestHold``.
/// - **Redis refuses.** Nobody can know of this worker; it takes an even part, and a warning says so.
///
/// Two limits remain, since a worker can't tell whether Redis is away for all or for itself alone:
///
/// - A worker that alone can't reach Redis keeps its part, which others get after its lease. That lasts only while it has
///   entries, and it gets no more of them without Redis.
/// - If Redis has lost all memberships, a worker without a part that is back first gets the whole of the rates. That lasts until
///   another worker is back, at most ``SharedRates/Options/returnInterval``. The same data loss deletes the queue.
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
  /// What this worker may use, of ``whole``.
  private(set) var part = 0
  /// As Redis said last, this one included.
  private(set) var workers = 1
  private(set) var workersWithWork = 0

  private var hasWork = false
  private var idleSince: MonotonicInstant?
  private var isAway = false
  /// A time at which this worker's part wasn't others' yet: its last answered heartbeat, or a later try that failed.
  private var contact: MonotonicInstant
  /// The part that isn't used until Redis replies, and until when at most.
  private var hold: (part: Int, until: MonotonicInstant)?
  private var reported = Heartbeat(hasWork: false, part: 0)

  init(terms: Terms = Terms(), now: MonotonicInstant) {
    self.terms = terms
    contact = now
  }

  var heartbeat: Heartbeat { Heartbeat(hasWork: hasWork, part: part) }

  /// Whether others wait for a heartbeat, or this worker does for a part.
  var hasNews: Bool { hasWork != reported.hasWork || part < reported.part }

  mutating func setHasWork(_ newValue: Bool, now: MonotonicInstant) {
    idleSince = newValue ? nil : idleSince ?? now
    if newValue { hasWork = true }
  }

  /// Lets time pass; to be called before each heartbeat.
  mutating func advance(now: MonotonicInstant) {
    checkLease(now)
    if isAway, let hold, now >= hold.until {
      part = hold.part
      contact = now
      self.hold = nil
    }
    // What it gave up while Redis is away nobody could use, nor could it get it back.
    if !isAway, let idleSince, now.since(idleSince) >= terms.idleAfter { (hasWork, part, hold) = (false, 0, nil) }
  }

  mutating func sent(_ heartbeat: Heartbeat) { reported = heartbeat }

  /// Redis has answered the heartbeat that was sent then.
  mutating func answered(part granted: Int, workers: Int, withWork: Int, sent: MonotonicInstant, now: MonotonicInstant) {
    (self.workers, workersWithWork, isAway) = (max(1, workers), withWork, false)
    (part, hold, contact) = (min(max(0, granted), Self.whole), nil, sent)
    // It may have stood still since then.
    checkLease(now)
  }

  /// Redis cannot be reached.
  mutating func lost(now: MonotonicInstant) {
    checkLease(now)
    isAway = true
    contact = now
  }

  /// Redis refuses heartbeats, and knows of so many workers; nil where it does not say.
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
