import ImagePrimitives

/// The `Retry-After` of an answer (RFC 9110, section 10.2.3): seconds, or a date.
enum RetryAfter {
  /// No host is waited for longer, and no calculation overflows.
  private static let maximumSeconds: Int64 = 10 * 365 * 86_400
  /// A date may name less, and one who asks for less would be asked all too often without that counting as a retry.
  private static let leastWait = Duration.seconds(1)

  /// For how long the host asks to be left alone: nil where it asks for nothing, or names a moment that has passed.
  ///
  /// A date is measured against the answer's own `Date`, where there is one, so that clocks need not agree; else against `now`.
  static func wait(_ value: ArraySlice<UInt8>, date: ArraySlice<UInt8>?, now: Timestamp) -> Duration? {
    if let seconds = seconds(value) { return seconds > 0 ? .seconds(seconds) : nil }
    guard let until = HTTPDate.time(value) else { return nil }
    let answered = date.flatMap(HTTPDate.time) ?? now
    guard until > answered else { return nil }
    let milliseconds = until.milliseconds.subtractingReportingOverflow(answered.milliseconds)
    let most = maximumSeconds * 1000
    return max(.milliseconds(milliseconds.overflow ? most : min(milliseconds.partialValue, most)), leastWait)
  }

  /// The number that digits alone make, at most the maximum; nil for other text.
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
