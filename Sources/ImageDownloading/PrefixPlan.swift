/// When the beginning of a body is judged: a state machine that knows of lengths alone.
struct PrefixPlan {
  /// No judge gets more, and no probe fetches more.
  static let maximumBytes = 1 << 20
  /// So many requests a probe makes at most, which are enough for ``maximumBytes``.
  static let maximumRequests = maximumBytes / DownloadOptions.probeBytes
  /// What a judge sees first of a body that is wanted whole; later it sees at least so much more each time.
  private static let stepBytes = 512

  /// How much of the body is here when it is judged next, which is also all that a probe takes until then; nil where it is
  /// settled.
  private(set) var next: Int?
  private let isProbe: Bool

  /// For a body that is wanted whole.
  init(isJudged: Bool) {
    next = isJudged ? Self.stepBytes : nil
    isProbe = false
  }

  /// For a probe.
  init(probing continuation: BodyContinuation?) {
    next = continuation?.wantedBytes ?? DownloadOptions.probeBytes
    isProbe = true
  }

  /// Whatever comes, it is not judged again.
  mutating func settle() { next = nil }

  /// Has it judged again with `minimum` bytes, of which `count` are here: a probe takes more in steps of its first ones. Where
  /// that is too much, it is settled.
  mutating func extend(to minimum: Int, having count: Int) {
    let step = isProbe ? DownloadOptions.probeBytes : Self.stepBytes
    guard minimum <= Self.maximumBytes, count <= Self.maximumBytes - step else { return settle() }
    next = isProbe ? (max(minimum, count + 1) + step - 1) / step * step : max(minimum, count + step)
  }
}
