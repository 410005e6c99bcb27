import ImagePrimitives

/// Why something is not asked of a host at all.
enum HostRefusal: Equatable {
  /// It did nothing but fail, for so long that it is given up for `remaining` more.
  case down(lastFailure: String, remaining: Duration)
  /// It has answered nothing but 429 and 503, and asks for `remaining` more of what are pauses of `total`.
  case paused(status: Int, remaining: Duration, total: Duration)

  /// What ends those that wait for the host.
  func failure(of host: URLOrigin, patience: Duration, wasAsked: Bool) -> Failure {
    switch self {
    case .down(let lastFailure, let remaining):
      // Not for this run, but it may heal by itself.
      return Failure(
        .hostDown,
        isTransient: true,
        message:
          """
          \(host.address) is not asked for \(remaining.wholeSecondsText) more, since it did nothing but fail (\(lastFailure)); \
          a later run asks again
          """
      )
    case .paused(let status, let remaining, let total):
      let answer = "\(host.address) answered \(status)\(HTTPPhrases.phrase(of: status).map { " \($0)" } ?? "")"
      let asked = wasAsked ? "" : "; this URL was not asked"
      let wish =
        total > remaining
        ? "and has only asked for pauses, \(total.wholeSecondsText) in all,"
        : "and asks to wait \(remaining.wholeSecondsText),"
      return Failure(
        .httpStatus,
        status: status,
        isTransient: true,
        message: "\(answer) \(wish) which is more than request.retry-after-max, \(patience.text)\(asked)"
      )
    }
  }
}

extension Failure {
  /// What ends a download that itself was told to wait for too long.
  static func waitsTooLong(_ failure: Failure, asked: Duration, waited: Duration, patience: Duration) -> Failure {
    var failure = failure
    let before = waited > .zero ? " after \(waited.text) of such waits" : ""
    failure.message += " and asks to wait \(asked.text)\(before), which is more than request.retry-after-max, \(patience.text)"
    return failure
  }
}

extension Duration {
  /// In seconds, rounded up.
  fileprivate var wholeSecondsText: String { "\((wholeMilliseconds + 999) / 1000) s" }
}
