import Base

extension DownloadScheduler {
  /// Starts all jobs that may start, and returns the limit that keeps the rest waiting.
  func startWaiting() -> StartLimit {
    let startsNew = startsNew
    var hasStarted = false
    while true {
      switch queue.next(now: now, startsNew: startsNew) {
      case .start(let slot, let resolves):
        noteTry(slot)
        if let loader = pending[slot].loader {
          startLoad(slot, by: configuration.loaders[loader], resolves: resolves)
        } else {
          start(slot, resolves: resolves)
        }
        hasStarted = true
      case .none(let limit):
        if hasStarted { pool.loop.actOnTime() }
        // Transfers that advanced or ended at once may let others start.
        hasMore = hasStarted && takeReport()
        return limit
      }
    }
  }

  /// Records that a job that starts tries a host that has kept failing; no other that someone waits for waits for its result.
  private func noteTry(_ slot: Int) {
    let (host, isAwaited) = (pending[slot].host, pending[slot].isQueuedAsAwaited)
    let isTry = !queue[host].breaker.isClosed
    pending[slot].tryOfAwaited = isTry ? isAwaited : nil
    if isTry, isAwaited { refuseWaiting(for: host) }
  }

  /// Whether new downloads may start.
  var startsNew: Bool { !isSuspended && !clients.values.contains(where: \.holdsBack) }

  private func start(_ slot: Int, resolves: Bool) {
    let kind = kind(of: pending[slot])
    let ownRequest: OwnRequest?
    do throws(ImageFailure) {
      ownRequest = try OwnRequest(for: pending[slot], kind, defaults: configuration.headers)
    } catch {
      return refuse(slot, error, resolves: resolves)
    }
    let transfer = pool.transfer(for: pending[slot].host, kind.prepared, mayUseHTTP2: pending[slot].mayUseHTTP2)
    pending[slot].begin(.transferring(index: transfer.index), now: now)
    transfer.begin(pending[slot], slot: slot, kind, ownRequest, defaults: configuration.headers, resolves: resolves, now: now)
    transfer.isObserved = pending[slot].waiters.contains { $0.watch != nil }
    pool.start(transfer)
    notifyStarted(slot)
  }

  /// The kind of the next request: that of the options, except for servers without HEAD or ranges, and decryptors.
  private func kind(of job: QueuedDownload) -> RequestTemplate.Kind {
    let prepared = job.download.prepared
    var kind = RequestTemplate.Kind(prepared: prepared, isOwnOrigin: job.isAtOwnOrigin, method: prepared.options.method)
    if kind.method == .get { return kind }
    let isRefused = { (method: DownloadOptions.Method) in self.refusals.contains(job.url, method) }
    if kind.method == .head, job.refused == nil, job.continuation == nil, !isRefused(.head) { return kind }
    kind.method = prepared.options.decryptor == nil ? .probe : .get
    kind.isPlain = kind.method == .probe && job.continuation == nil && (job.refused == .probe || isRefused(.probe))
    return kind
  }

  private func refuse(_ slot: Int, _ failure: ImageFailure, resolves: Bool) {
    pending[slot].change(to: .none)
    if resolves { queue.resolved() }
    let tried = pending[slot].tryOfAwaited
    queue.finished(host: pending[slot].host, failedToConnect: true, wasRequested: false, tryOfAwaited: tried)
    settle(slot, .failure(failure))
  }

  func countAsResolved(_ transfer: Transfer) {
    transfer.request.isCountedAsResolving = false
    queue.resolved()
  }
}

/// The origins without HEAD, so that their other URLs are probed at once, or without ranges, so that these are fetched.
struct MethodRefusals {
  /// Above this, all of a method are dropped and learned again.
  private static let maximumCount = 4096

  private var origins: [DownloadOptions.Method: Set<URLOrigin>] = [:]

  mutating func insert(_ url: [UInt8], _ method: DownloadOptions.Method) {
    guard let origin = URLOrigin(url) else { return }
    if origins[method, default: []].count >= Self.maximumCount { origins[method] = nil }
    origins[method, default: []].insert(URLOrigin(copying: origin))
  }

  func contains(_ url: [UInt8], _ method: DownloadOptions.Method) -> Bool {
    guard !origins.isEmpty, let origins = origins[method], let origin = URLOrigin(url) else { return false }
    return origins.contains(origin)
  }
}

/// Ending and continuing jobs after a request.
extension DownloadScheduler {
  /// Continues or ends the job of a transfer that has ended with `outcome`.
  func conclude(_ transfer: Transfer, _ slot: Int, _ outcome: TransferOutcome) {
    if transfer.isObserved { notifyEnd(of: transfer, slot, outcome) }
    var failedToConnect = false
    var continuation: BodyContinuation?
    if case .failure(let failure) = outcome {
      failedToConnect = transfer.request.phase != .connected
      continuation = transfer.resumption(after: failure, counting: keptBytes)
    }
    let pause = record(outcome, of: transfer, slot)
    // A connection shows its certificate once, maybe with a redirect or a failure.
    if transfer.options.purpose.describesDelivery, let end = transfer.certificateEnd { certificateEnds[pending[slot].host] = end }
    release(transfer, of: slot, failedToConnect: failedToConnect)
    settle(slot, outcome, resumingFrom: continuation, pause: pause)
  }

  /// Adds the cost of an ended transfer to its job, and frees it.
  func release(_ transfer: Transfer, of slot: Int, failedToConnect: Bool = false) {
    // A transfer within one iteration takes no time by the scheduler's clock, but by libcurl's.
    let measured = now.since(transfer.request.started).wholeNanoseconds
    let taken = measured > 0 ? measured : transfer.nanosecondsByCurl
    if pending[slot].waiters.wantsDetails, pending[slot].accepted == nil {
      pending[slot].summary.response = transfer.responseHead
      pending[slot].summary.metrics = transfer.metrics(redirects: pending[slot].route.visited.count)
    }
    pending[slot].end(nanoseconds: taken, receivedBytes: transfer.receivedBytes)
    if transfer.request.isCountedAsResolving { countAsResolved(transfer) }
    queue.finished(host: pending[slot].host, failedToConnect: failedToConnect, tryOfAwaited: pending[slot].tryOfAwaited)
    pool.free(transfer, host: pending[slot].host, mayUseHTTP2: pending[slot].mayUseHTTP2)
  }

  /// Ends a job after a request, continues it with another, or retries it: from `continuation`, after the pause that the host asks for.
  func settle(
    _ slot: Int,
    _ outcome: TransferOutcome,
    resumingFrom continuation: BodyContinuation? = nil,
    pause: Duration? = nil
  ) {
    guard let outcome = outcomeAfterSecondRequest(slot, outcome) else { return }
    switch outcome {
    case .remoteCache: preconditionFailure("a second request follows an accepted response")
    case .response(let response):
      if let method = pending[slot].lesson { refusals.insert(pending[slot].url, method) }
      end(slot, response)
    case .redirect(let location, let setsCookie):
      do throws(ImageFailure) {
        try pending[slot].follow(location, setsCookie: setsCookie, by: normalizer)
        move(slot)
        enqueue(slot)
      } catch {
        let kind = kind(of: pending[slot])
        guard kind.isTentative else { return settleFailure(slot, error, continuation, pause) }
        confirm(slot, Refusal(method: kind.method, failure: error, isLesson: true), pause)
      }
    case .refused(let refusal): confirm(slot, refusal, pause)
    case .needsMore(let continuation):
      pending[slot].continueAttempt(from: continuation)
      enqueue(slot)
    case .startOver:
      if pending[slot].hasHandedOver { notifyRestarted(slot) }
      pending[slot].continueAttempt()
      enqueue(slot)
    case .failure(let failure): settleFailure(slot, failure, continuation, pause)
    }
  }

  /// Returns the outcome to settle, or nil if it queued a second request between an accepted response and the end of its job. That
  /// continues the attempt, so it needs no new slot and isn't retried.
  private func outcomeAfterSecondRequest(_ slot: Int, _ outcome: TransferOutcome) -> TransferOutcome? {
    if let accepted = pending[slot].accepted { return .response(accepted.response(after: outcome)) }
    guard pending[slot].download.options.purpose.checksRemoteCache, pending[slot].loader == nil else { return outcome }
    guard case .response(let response) = outcome else { return outcome }
    pending[slot].requestAgain(keeping: AcceptedResponse(response))
    enqueue(slot)
    return nil
  }

  /// Continues the attempt of a failed HEAD or probe with a plain GET, which decides; a server that only lacks HEAD is probed.
  private func confirm(_ slot: Int, _ refusal: Refusal, _ pause: Duration?) {
    if refusal.method == .head, HTTPStatus.refusesMethod(refusal.failure.status ?? 0) {
      refusals.insert(pending[slot].url, .head)
      pending[slot].probeInstead()
    } else {
      pending[slot].getInstead(of: refusal)
      // A pause that the host requests comes before it, as before a retry.
      if pause != nil { return settleFailure(slot, refusal.failure, nil, pause) }
      move(slot)
    }
    enqueue(slot)
  }

  private func settleFailure(_ slot: Int, _ failure: ImageFailure, _ continuation: BodyContinuation?, _ pause: Duration?) {
    let (job, breaker) = (pending[slot], queue[pending[slot].host].breaker)
    let isEnded = leave(slot) { waiter in
      let stops = waiter.patience.isAwaited ? !breaker.isClosed : breaker.isDown
      return job.lastFailure(failure, asked: pause, for: waiter) ?? (waiter.mayRetry && !stops ? nil : failure)
    }
    if isEnded { return }
    let delay = pause ?? configuration.jitter(job.patience.options.backoff.limit(beforeRetry: job.tries - 1))
    if job.hasHandedOver, continuation == nil { notifyRestarted(slot) }
    for watch in job.watches { watch.retry(after: failure, in: delay) }
    if pause != nil { job.excuse(waiting: delay) }
    // A pause that a batch is asked for is the host's, with the job in its position; but not if the host was that of a redirect.
    let waits = pause == nil || job.isRedirected || job.isAwaited
    // Chunks that were handed over stay valid if the body is resumed.
    if continuation?.hasHandedOver != true { absorbSuccessor(of: slot) }
    job.restart(from: continuation, now: now)
    if job.loader == nil { move(slot) }
    enqueue(slot, notBefore: waits ? now.advanced(by: delay) : nil)
  }

  /// Fails a job that neither waits nor runs; if only its second request was left, it ends with its accepted response.
  func end(_ slot: Int, _ failure: ImageFailure) { end(slot, pending[slot].waiters.map { _ in failure }) }

  /// The same with the failure of each of its downloads.
  func end(_ slot: Int, _ failures: [ImageFailure?]) {
    if pending[slot].accepted != nil, let failure = failures.first ?? nil { return settle(slot, .failure(failure)) }
    let job = finish(slot)
    for case (let waiter, let failure?) in zip(job.waiters, failures) { fail(waiter, failure, job) }
  }

  private func end(_ slot: Int, _ response: DownloadResponse) {
    var response = response
    response.delivery?.certificateEnd = certificateEnds[pending[slot].host]
    let job = finish(slot)
    if job.isRedirected { response.finalURLBytes = job.url }
    job.waiters.forEach { waiter in
      response.summary = job.summary(for: waiter)
      if response.isNotModified {
        waiter.client.end(waiter.id, .notModified(id: waiter.id, response))
      } else {
        waiter.client.end(waiter.id, .finished(id: waiter.id, response))
      }
    }
  }

  func fail(_ waiter: WaitingDownload, _ failure: ImageFailure, _ job: QueuedDownload) {
    waiter.client.end(waiter.id, .failed(id: waiter.id, failure, job.summary(for: waiter)))
  }

  /// Counts a job for the host of its next request.
  private func move(_ slot: Int) {
    guard let origin = URLOrigin(pending[slot].url) else { preconditionFailure("the URL of a redirect isn't normalised") }
    let host = retainHost(of: origin, pending[slot].download.options)
    releaseHost(pending[slot].host)
    pending[slot].host = host
  }

  /// Removes a job that neither waits nor runs; its successor may start.
  func finish(_ slot: Int) -> QueuedDownload {
    let job = pending.remove(slot)
    releaseHost(job.host)
    // If look-ups find another, the job waited for that.
    if let predecessor = pending.slot(of: job.identity) { pending[predecessor].successor = nil }
    if let successor = job.successor {
      pending.open(successor)
      pending[successor].change(to: .none)
      enqueue(successor)
    }
    return job
  }

  func releaseHost(_ host: Int) {
    guard hosts.release(host) else { return }
    guard queue.settle(host: host, now: now) else { return forget(host: host) }
    guard let forgotten = hosts.keep(host) else { return }
    queue.forget(host: forgotten)
    forget(host: forgotten)
  }

  private func forget(host: Int) {
    hosts.forget(host)
    pool.forget(host: host)
    certificateEnds[host] = nil
  }
}
