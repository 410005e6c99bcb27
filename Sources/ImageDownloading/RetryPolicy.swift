import ImagePrimitives

/// Whether and when a failed download is tried again.
struct RetryPolicy {
  /// Draws a wait from zero to the limit given.
  let jitter: @Sendable (Duration) -> Duration

  /// When the next attempt may start; nil where `failure` is final.
  func time(after failure: Failure, of job: Job, now: MonotonicInstant) -> MonotonicInstant? {
    let options = job.download.options
    let attempts = job.summary.attempts
    guard failure.isTransient, attempts <= options.retries else { return nil }
    return now.advanced(by: jitter(options.backoff.limit(beforeRetry: attempts - 1)))
  }
}
