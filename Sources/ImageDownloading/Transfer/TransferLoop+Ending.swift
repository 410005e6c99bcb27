import CCurl
import ImagePrimitives

/// What a request that has ended leaves to what follows it.
struct RequestEnd {
  /// Whether some of the body has gone out in chunks.
  var hasHandedOver = false
  /// What the next attempt can go on from.
  var continuation: BodyContinuation?
  /// For how long the host asks to be left alone.
  var askedWait: Duration?
}

/// How jobs end, or go on after a request.
extension TransferLoop {
  /// Concludes what libcurl has ended; true where there was any.
  @discardableResult
  func concludeEnded() -> Bool {
    var hasAny = false
    while let ended = multi.nextEnded() {
      var context: UnsafeMutableRawPointer?
      curl_get_pointer(ended.easy, CURLINFO_PRIVATE, &context)
      conclude(Transfer.of(context)) { $0.outcome(ended.code, at: time) }
      hasAny = true
    }
    return hasAny
  }

  /// Ends transfers and loads that take too long, and finds when the next may.
  func checkTimeLimits() {
    guard iteration.now >= iteration.nextTimeLimit else { return }
    iteration.nextTimeLimit = MonotonicInstant(nanoseconds: .max)
    for transfer in transfers where transfer.job != nil {
      if let failure = transfer.brokenTimeLimit(iteration.now) {
        conclude(transfer) { $0.earlyOutcome(at: time) ?? .failure(failure) }
      } else {
        iteration.nextTimeLimit = min(iteration.nextTimeLimit, transfer.nextTimeLimit)
      }
    }
    checkLoadLimits()
  }

  private func conclude(_ transfer: Transfer, _ judge: (Transfer) -> TransferOutcome) {
    guard let slot = transfer.job else { return }
    let outcome = judge(transfer)
    notifyChunks()
    if transfer.isObserved { notifyEnd(of: transfer, slot, outcome) }
    var end = RequestEnd(hasHandedOver: transfer.hasHandedOver)
    var failedToConnect = false
    if case .failure(let failure) = outcome {
      failedToConnect = transfer.phase != .connected
      end.continuation = transfer.resumption(after: failure)
    }
    end.askedWait = record(outcome, of: transfer, slot)
    release(transfer, of: slot, failedToConnect: failedToConnect)
    settle(slot, outcome, end)
  }

  /// Takes a transfer from libcurl, adds what it cost to its job, and makes it free.
  func release(_ transfer: Transfer, of slot: Int, failedToConnect: Bool = false) {
    // What began and ended in one turn of the loop has no time by the loop's clock, but by libcurl's.
    let measured = iteration.now.nanoseconds - transfer.started.nanoseconds
    let taken = measured > 0 ? measured : transfer.nanosecondsByCurl
    if pending[slot].waiters.wantsDetails, pending[slot].accepted == nil {
      pending[slot].summary.details = transfer.details(redirects: pending[slot].visited.count)
    }
    pending[slot].end(nanoseconds: taken, receivedBytes: transfer.receivedBytes)
    multi.remove(transfer.easy)
    if transfer.isCountedAsResolving { countAsResolved(transfer) }
    queue.finished(host: pending[slot].host, failedToConnect: failedToConnect)
    transfer.end()
    free.append(transfer.place)
  }

  /// Decides what becomes of a job after a request: it ends, goes on with another request, or tries again.
  func settle(_ slot: Int, _ outcome: TransferOutcome, _ requestEnd: RequestEnd = RequestEnd()) {
    guard let outcome = outcomeAfterSecondRequest(slot, outcome) else { return }
    switch outcome {
    case .remoteCache: preconditionFailure("a second request follows an accepted answer")
    case .image(let image), .notModified(let image): end(slot, outcome, image)
    case .redirect(let location):
      switch redirects.resolve(location, of: pending[slot]) {
      case .success(let url):
        pending[slot].follow(to: url)
        move(slot, to: url)
        enqueue(slot)
      case .failure(let failure): settle(slot, .failure(failure))
      }
    case .headRefused:
      headRefusals.insert(pending[slot].url)
      pending[slot].probeInstead()
      enqueue(slot)
    case .needsMore(let continuation):
      pending[slot].continueProbe(from: continuation)
      enqueue(slot)
    case .startOver:
      if requestEnd.hasHandedOver { notifyRestarted(slot) }
      pending[slot].startOver()
      enqueue(slot)
    case .failure(let failure): settleFailure(slot, failure, requestEnd)
    }
  }

  private func settleFailure(_ slot: Int, _ failure: Failure, _ requestEnd: RequestEnd) {
    let mayRetry = pending[slot].waiters.mayRetry && !queue.isDown(pending[slot].host)
    let step = retries.step(after: failure, asked: requestEnd.askedWait, of: pending[slot], now: iteration.now)
    if case .end(let last) = step { return end(slot, last) }
    guard mayRetry else { return end(slot, failure) }
    for waiter in pending[slot].waiters.removeThoseWithoutRetry() {
      forgetWatch(waiter, slot)
      fail(waiter, failure, pending[slot])
    }
    let continuation = requestEnd.continuation
    if requestEnd.hasHandedOver, continuation == nil { notifyRestarted(slot) }
    switch step {
    case .wait(let duration):
      pending[slot].excuse(waiting: duration)
      // Where another host sent it there, it waits by itself; else with its host, in its place.
      retry(slot, from: continuation, notBefore: pending[slot].isRedirected ? iteration.now.advanced(by: duration) : nil)
    case .retry(let time): retry(slot, from: continuation, notBefore: time)
    case .end: break
    }
  }

  /// Ends a job that neither waits nor runs with a failure; one that was only to be asked for a second time, with what it has.
  func end(_ slot: Int, _ failure: Failure) {
    if pending[slot].accepted != nil { return settle(slot, .failure(failure)) }
    let job = finish(slot)
    job.waiters.forEach { fail($0, failure, job) }
  }

  private func end(_ slot: Int, _ outcome: TransferOutcome, _ image: DownloadedImage) {
    var image = image
    let job = finish(slot)
    if job.isRedirected { image.finalURL = job.url }
    job.waiters.forEach { waiter in
      image.summary = job.summary(for: waiter)
      if case .notModified = outcome {
        waiter.client.end(waiter.id, .notModified(id: waiter.id, image))
      } else {
        waiter.client.end(waiter.id, .finished(id: waiter.id, image))
      }
    }
  }

  private func fail(_ waiter: Waiter, _ failure: Failure, _ job: PendingTransfer) {
    waiter.client.end(waiter.id, .failed(id: waiter.id, failure, job.summary(for: waiter)))
  }

  private func retry(_ slot: Int, from continuation: BodyContinuation?, notBefore time: MonotonicInstant?) {
    // What has been handed over is not void where it is gone on from.
    if continuation?.hasHandedOver != true { absorbSuccessor(of: slot) }
    pending[slot].restart(from: continuation, now: iteration.now)
    if pending[slot].loader == nil { move(slot, to: pending[slot].url) }
    enqueue(slot, notBefore: time)
  }

  /// Counts a job for the host of its next request.
  private func move(_ slot: Int, to url: [UInt8]) {
    guard let origin = URLOrigin(url) else { preconditionFailure("redirects lead to normalised URLs") }
    let host = hosts.retain(origin.connecting(by: pending[slot].download.options))
    releaseHost(pending[slot].host)
    pending[slot].host = host
  }

  /// Takes a job that neither waits nor runs out of the table; one that waits for it may start.
  func finish(_ slot: Int) -> PendingTransfer {
    if !watches.isEmpty { watches[slot] = nil }
    let (job, found) = pending.remove(slot)
    releaseHost(job.host)
    if let found { pending[found].successor = nil }
    if let successor = job.successor {
      release(successor)
      enqueue(successor)
    }
    return job
  }

  func releaseHost(_ host: Int) {
    guard hosts.release(host) else { return }
    guard queue.settle(host: host, now: iteration.now) else { return hosts.forget(host) }
    guard let forgotten = hosts.keep(host) else { return }
    queue.forget(host: forgotten)
    hosts.forget(forgotten)
  }
}

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
  func step(after failure: Failure, asked: Duration?, of job: PendingTransfer, now: MonotonicInstant) -> Step {
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
