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
      conclude(Transfer.of(context)) { $0.verdict(ended.code, at: time) }
      hasAny = true
    }
    return hasAny
  }

  /// Ends transfers and loads that take too long, and finds when the next may.
  func checkTimeLimits() {
    guard turn.now >= turn.nextTimeLimit else { return }
    turn.nextTimeLimit = MonotonicInstant(nanoseconds: .max)
    for transfer in transfers where transfer.job != nil {
      if let failure = transfer.brokenTimeLimit(turn.now) {
        conclude(transfer) { $0.earlyVerdict(at: time) ?? .failure(failure) }
      } else {
        turn.nextTimeLimit = min(turn.nextTimeLimit, transfer.nextTimeLimit)
      }
    }
    checkLoadLimits()
  }

  private func conclude(_ transfer: Transfer, _ judge: (Transfer) -> Verdict) {
    guard let slot = transfer.job else { return }
    let verdict = judge(transfer)
    tellChunks()
    if transfer.isObserved { tellEnd(of: transfer, slot, verdict) }
    var end = RequestEnd(hasHandedOver: transfer.hasHandedOver)
    var failedToConnect = false
    if case .failure(let failure) = verdict {
      failedToConnect = transfer.phase != .connected
      end.continuation = transfer.resumption(after: failure)
    }
    end.askedWait = record(verdict, of: transfer, slot)
    release(transfer, of: slot, failedToConnect: failedToConnect)
    settle(slot, verdict, end)
  }

  /// Takes a transfer from libcurl, adds what it cost to its job, and makes it free.
  func release(_ transfer: Transfer, of slot: Int, failedToConnect: Bool = false) {
    // What began and ended in one turn of the loop has no time by the loop's clock, but by libcurl's.
    let measured = turn.now.nanoseconds - transfer.started.nanoseconds
    let taken = measured > 0 ? measured : transfer.nanosecondsByCurl
    if jobs[slot].sharers.wantsDetails, jobs[slot].accepted == nil {
      jobs[slot].summary.details = transfer.details(redirects: jobs[slot].visited.count)
    }
    jobs[slot].end(nanoseconds: taken, receivedBytes: transfer.receivedBytes)
    multi.remove(transfer.easy)
    if transfer.isCountedAsResolving { countAsResolved(transfer) }
    queue.finished(host: jobs[slot].host, failedToConnect: failedToConnect)
    transfer.end()
    free.append(transfer.place)
  }

  /// Decides what becomes of a job after a request: it ends, goes on with another request, or tries again.
  func settle(_ slot: Int, _ verdict: Verdict, _ requestEnd: RequestEnd = RequestEnd()) {
    guard let verdict = verdictAfterSecondRequest(slot, verdict) else { return }
    switch verdict {
    case .remoteCache: preconditionFailure("a second request follows an accepted answer")
    case .image(let image), .notModified(let image): end(slot, verdict, image)
    case .redirect(let location):
      switch redirects.resolve(location, of: jobs[slot]) {
      case .success(let url):
        jobs[slot].follow(to: url)
        move(slot, to: url)
        enqueue(slot)
      case .failure(let failure): settle(slot, .failure(failure))
      }
    case .headRefused:
      headRefusals.insert(jobs[slot].url)
      jobs[slot].probeInstead()
      enqueue(slot)
    case .needsMore(let continuation):
      jobs[slot].continueProbe(from: continuation)
      enqueue(slot)
    case .startOver:
      if requestEnd.hasHandedOver { tellRestarted(slot) }
      jobs[slot].startOver()
      enqueue(slot)
    case .failure(let failure): settleFailure(slot, failure, requestEnd)
    }
  }

  private func settleFailure(_ slot: Int, _ failure: Failure, _ requestEnd: RequestEnd) {
    let mayRetry = jobs[slot].sharers.mayRetry && !queue.isDown(jobs[slot].host)
    let step = retries.step(after: failure, asked: requestEnd.askedWait, of: jobs[slot], now: turn.now)
    if case .end(let last) = step { return end(slot, last) }
    guard mayRetry else { return end(slot, failure) }
    for sharer in jobs[slot].sharers.removeThoseWithoutRetry() {
      forgetWatch(sharer, slot)
      fail(sharer, failure, jobs[slot])
    }
    let continuation = requestEnd.continuation
    if requestEnd.hasHandedOver, continuation == nil { tellRestarted(slot) }
    switch step {
    case .wait(let duration):
      jobs[slot].excuse(waiting: duration)
      // Where another host sent it there, it waits by itself; else with its host, in its place.
      retry(slot, from: continuation, notBefore: jobs[slot].isRedirected ? turn.now.advanced(by: duration) : nil)
    case .retry(let time): retry(slot, from: continuation, notBefore: time)
    case .end: break
    }
  }

  /// Ends a job that neither waits nor runs with a failure; one that was only to be asked for a second time, with what it has.
  func end(_ slot: Int, _ failure: Failure) {
    if jobs[slot].accepted != nil { return settle(slot, .failure(failure)) }
    let job = finish(slot)
    job.sharers.forEach { fail($0, failure, job) }
  }

  private func end(_ slot: Int, _ verdict: Verdict, _ image: DownloadedImage) {
    var image = image
    let job = finish(slot)
    if job.isRedirected { image.finalURL = job.url }
    job.sharers.forEach { sharer in
      image.summary = job.summary(for: sharer)
      if case .notModified = verdict {
        sharer.client.end(sharer.id, .notModified(id: sharer.id, image))
      } else {
        sharer.client.end(sharer.id, .finished(id: sharer.id, image))
      }
    }
  }

  private func fail(_ sharer: Sharer, _ failure: Failure, _ job: Job) {
    sharer.client.end(sharer.id, .failed(id: sharer.id, failure, job.summary(for: sharer)))
  }

  private func retry(_ slot: Int, from continuation: BodyContinuation?, notBefore time: MonotonicInstant?) {
    // What has been handed over is not void where it is gone on from.
    if continuation?.hasHandedOver != true { absorbSuccessor(of: slot) }
    jobs[slot].restart(from: continuation, now: turn.now)
    if jobs[slot].loader == nil { move(slot, to: jobs[slot].url) }
    enqueue(slot, notBefore: time)
  }

  /// Counts a job for the host of its next request.
  private func move(_ slot: Int, to url: [UInt8]) {
    guard let origin = URLOrigin(url) else { preconditionFailure("redirects lead to normalised URLs") }
    let host = hosts.retain(origin.connecting(by: jobs[slot].download.options))
    releaseHost(jobs[slot].host)
    jobs[slot].host = host
  }

  /// Takes a job that neither waits nor runs out of the table; one that waits for it may start.
  func finish(_ slot: Int) -> Job {
    if !watches.isEmpty { watches[slot] = nil }
    let (job, found) = jobs.remove(slot)
    releaseHost(job.host)
    if let found { jobs[found].successor = nil }
    if let successor = job.successor {
      release(successor)
      enqueue(successor)
    }
    return job
  }

  func releaseHost(_ host: Int) {
    guard hosts.release(host) else { return }
    guard queue.settle(host: host, now: turn.now) else { return hosts.forget(host) }
    guard let forgotten = hosts.keep(host) else { return }
    queue.forget(host: forgotten)
    hosts.forget(forgotten)
  }
}
