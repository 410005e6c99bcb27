import ImagePrimitives

/// The pauses that a host has asked for by 429 and 503 (RFC 6585, section 4; RFC 9110, sections 10.2.3 and 15.6.4): until when,
/// and for how long in all while it answered nothing else.
struct HostPause {
  /// Nothing is asked of it before this.
  private(set) var until = MonotonicInstant(nanoseconds: 0)
  /// Its pauses since it last answered otherwise.
  private(set) var totalNanoseconds: UInt64 = 0
  /// How often in a row it has asked for one. What was under way when it asked counts with that.
  private(set) var timesAsked = 0
  private var lastAsked = MonotonicInstant(nanoseconds: 0)
  /// How it asked last; 0 where it never did.
  private(set) var status: UInt16 = 0

  /// The host asks for a pause, in answer to a request that began then.
  mutating func note(begun: MonotonicInstant, now: MonotonicInstant) {
    guard timesAsked == 0 || begun > lastAsked else { return }
    timesAsked += 1
    lastAsked = now
  }

  /// Lets the host rest until `time`, at least; what pauses have in common counts once.
  mutating func extend(until time: MonotonicInstant, status: Int, now: MonotonicInstant) {
    self.status = UInt16(clamping: status)
    guard time > until else { return }
    totalNanoseconds &+= time.since(max(now, until)).wholeNanoseconds
    until = time
  }

  /// The host has answered otherwise, be it to what was asked before; a pause that it has asked for stays.
  mutating func heal() {
    totalNanoseconds = 0
    timesAsked = 0
  }

  /// What is left of the pause.
  func remaining(at now: MonotonicInstant) -> Duration { until.since(now) }

  /// What one needs the patience for that is to wait for the host: its pauses since it last answered otherwise, and at least what
  /// is left of the last.
  func total(at now: MonotonicInstant) -> Duration {
    max(.nanoseconds(Int64(clamping: totalNanoseconds)), remaining(at: now))
  }

  /// Whether it ever asked for one: told without the time, so that most hosts cost nothing.
  var isKnown: Bool { until.nanoseconds > 0 }
}
