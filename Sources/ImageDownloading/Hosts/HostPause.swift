import Base

/// The pauses that a host has asked for by 429 and 503 (RFC 6585, section 4; RFC 9110, sections 10.2.3 and 15.6.4): the end of the
/// last one, and their total since any other response.
struct HostPause {
  /// The time before which it gets no request.
  private(set) var until = MonotonicInstant(nanoseconds: 0)
  /// The total of its pauses since it last responded otherwise.
  private(set) var totalNanoseconds: UInt64 = 0
  /// The number of consecutive requests for a pause. Responses to requests that were running at that time count as one.
  private(set) var timesAsked = 0
  private var lastAsked = MonotonicInstant(nanoseconds: 0)
  /// The status of its last request for a pause; 0 if there was none.
  private(set) var status: UInt16 = 0

  /// Handles the host's request for a pause, in response to a request that began at `begun`.
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

  /// Handles any other response, even to an earlier request; the current pause continues.
  mutating func recover() {
    totalNanoseconds = 0
    timesAsked = 0
  }

  func remaining(at now: MonotonicInstant) -> Duration { until.since(now) }

  /// How long a download has to wait for the host in total: its pauses since any other response, and at least the remaining time.
  func total(at now: MonotonicInstant) -> Duration {
    max(.nanoseconds(Int64(clamping: totalNanoseconds)), remaining(at: now))
  }

  /// Whether it ever asked for a pause; needs no clock, so that most hosts cost nothing.
  var isKnown: Bool { until.nanoseconds > 0 }
}

/// The `Retry-After` of a response (RFC 9110, section 10.2.3): seconds, or a date.
enum RetryAfter {
  /// Longer waits are cut to this, so that no calculation overflows.
  private static let maximumSeconds: Int64 = 10 * 365 * 86_400
  /// A date may be closer; shorter waits would let requests follow too fast, since they don't count as retries.
  private static let leastWait = Duration.seconds(1)

  /// The pause that the host asks for; nil for zero and for a date in the past.
  ///
  /// A date is compared with the response's own `Date`, since clocks may differ, or with `now` if there is none.
  static func wait(_ value: ArraySlice<UInt8>, date: ArraySlice<UInt8>?, now: Timestamp) -> Duration? {
    if let seconds = seconds(value) { return seconds > 0 ? .seconds(seconds) : nil }
    guard let until = HTTPDate.time(value) else { return nil }
    let sent = date.flatMap(HTTPDate.time) ?? now
    guard until > sent else { return nil }
    return max(min(until.since(sent), .seconds(maximumSeconds)), leastWait)
  }

  /// Parses a number of seconds, at most the maximum; nil for other text. Some servers send decimals, which are rounded up.
  private static func seconds(_ text: ArraySlice<UInt8>) -> Int64? {
    let isDigit = { (byte: UInt8) in byte &- UInt8(ascii: "0") < 10 }
    let digits = text.prefix(while: isDigit)
    let decimals = text[digits.endIndex...]
    let isNumber = decimals.isEmpty || decimals.first == UInt8(ascii: ".") && decimals.dropFirst().allSatisfy(isDigit)
    guard isNumber, !digits.isEmpty else { return nil }
    let whole = digits.reduce(0) { min($0 * 10 + Int64($1 - UInt8(ascii: "0")), maximumSeconds) }
    return decimals.dropFirst().contains { $0 != UInt8(ascii: "0") } ? min(whole + 1, maximumSeconds) : whole
  }
}
