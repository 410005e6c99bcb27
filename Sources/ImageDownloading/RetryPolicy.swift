import ImagePrimitives

/// Whether and when a failed download is tried again.
struct RetryPolicy {
  /// Draws a wait from zero to the limit given.
  let jitter: @Sendable (Duration) -> Duration

  /// What becomes of a download whose attempt has failed.
  enum Step {
    /// It ends with that failure.
    case end(Failure)
    /// It is tried again then, which is one of its retries.
    case retry(MonotonicInstant)
    /// It is asked again once its host has rested for so long, which is no retry.
    case wait(Duration)
  }

  /// What becomes of `job` after `failure`, in which its host asked to be left alone for `asked`, if at all.
  func step(after failure: Failure, asked: Duration?, of job: Job, now: MonotonicInstant) -> Step {
    let options = job.download.options
    if let asked {
      guard job.toldToWait + asked <= options.retryAfterMaximum else {
        return .end(
          .waitsTooLong(failure, asked: asked, waited: job.toldToWait, patience: options.retryAfterMaximum)
        )
      }
      return .wait(asked)
    }
    let tries = job.summary.attempts - job.excusedAttempts
    guard failure.isTransient, tries <= options.retries else { return .end(failure) }
    return .retry(now.advanced(by: jitter(options.backoff.limit(beforeRetry: tries - 1))))
  }
}
