import ImagePrimitives

/// The pauses that a host has asked for by 429 and 503 (RFC 6585, section 4; RFC 9110, sections 10.2.3 and 15.6.4): the end of the
/// last, and their total since any other response.
struct HostPause {
  /// Nothing is asked of it before this.
  private(set) var until = MonotonicInstant(nanoseconds: 0)
  /// Its pauses since it last answered otherwise.
  private(set) var totalNanoseconds: UInt64 = 0
  /// Its consecutive requests for one. Responses to requests that were running then count as one.
  private(set) var timesAsked = 0
  private var lastAsked = MonotonicInstant(nanoseconds: 0)
  /// The status of its last request for a pause; 0 if there was none.
  private(set) var status: UInt16 = 0

  /// The host asks for a pause, in response to a request that began then.
  mutating func note(begun: MonotonicInstant, now: MonotonicInstant) {
    guard timesAsked == 0 || begun > lastAsked else { return }
    timesAsked += 1
    lastAsked = now
  }

  /// Pauses the host until `time` at least; overlapping pauses count once.
  mutating func extend(until time: MonotonicInstant, status: Int, now: MonotonicInstant) {
    self.status = UInt16(clamping: status)
    guard time > until else { return }
    totalNanoseconds &+= time.since(max(now, until)).wholeNanoseconds
    until = time
  }

  /// The host has sent another response, even to an earlier request; a pause that has begun stays.
  mutating func heal() {
    totalNanoseconds = 0
    timesAsked = 0
  }

  /// The rest of the pause.
  func remaining(at now: MonotonicInstant) -> Duration { until.since(now) }

  /// The patience that waiting for the host takes: its pauses since any other response, and at least the rest of the last.
  func total(at now: MonotonicInstant) -> Duration {
    max(.nanoseconds(Int64(clamping: totalNanoseconds)), remaining(at: now))
  }

  /// Whether it ever asked for one; needs no clock, so that most hosts cost nothing.
  var isKnown: Bool { until.nanoseconds > 0 }
}

/// The `Retry-After` of a response (RFC 9110, section 10.2.3): seconds, or a date.
enum RetryAfter {
  /// Longer waits are cut to this, so that no calculation overflows.
  private static let maximumSeconds: Int64 = 10 * 365 * 86_400
  /// A date may be closer, and shorter waits would let requests follow too fast, as they don't count as retries.
  private static let leastWait = Duration.seconds(1)

  /// The pause that the host asks for; nil for none, and for a date in the past.
  ///
  /// A date is measured against the response's own `Date` if it has one, so that clocks need not agree; else against `now`.
  static func wait(_ value: ArraySlice<UInt8>, date: ArraySlice<UInt8>?, now: Timestamp) -> Duration? {
    if let seconds = seconds(value) { return seconds > 0 ? .seconds(seconds) : nil }
    guard let until = HTTPDate.time(value) else { return nil }
    let answered = date.flatMap(HTTPDate.time) ?? now
    guard until > answered else { return nil }
    return max(min(until.since(answered), .seconds(maximumSeconds)), leastWait)
  }

  /// The number that digits make, at most the maximum; nil for other text.
  private static func seconds(_ text: ArraySlice<UInt8>) -> Int64? {
    guard !text.isEmpty else { return nil }
    var value: Int64 = 0
    for digit in text {
      guard digit &- UInt8(ascii: "0") < 10 else { return nil }
      value = min(value * 10 + Int64(digit - UInt8(ascii: "0")), maximumSeconds)
    }
    return value
  }
}
