import CCurl
import Base

extension DownloadScheduler {
  /// Records the outcome of a transfer for its host, before it is released. Returns the pause that the host asks for, if any.
  func record(_ outcome: TransferOutcome, of transfer: Transfer, _ slot: Int) -> Duration? {
    let failure: ImageFailure
    var isTentative = false
    switch outcome {
    case .failure(let ended): failure = ended
    case .refused(let refusal) where refusal.failure.isTransient: (failure, isTentative) = (refusal.failure, true)
    default:
      record(slot, .responded(latencyNanoseconds: latency(of: transfer)))
      return nil
    }
    if let status = failure.status, failure.kind == .httpStatus, HTTPStatus.asksForPause(status) {
      let wait = transfer.requestedPause(now: configuration.time.wall())
      recordBusy(slot, status: status, asked: wait)
      return wait
    }
    if isTentative {
      // The plain GET shows whether the host fails.
      record(slot, .nothing)
    } else if failure.unreachableReason != nil {
      record(slot, .unreachable(failure))
    } else if failure.kind == .truncated || failure.kind == .reset, transfer.statusOnWire > 0 {
      record(slot, .cut)
    } else if failure.isTransient {
      record(slot, .failed(failure))
    } else {
      record(slot, transfer.statusOnWire > 0 ? .responded(latencyNanoseconds: nil) : .nothing)
    }
    return nil
  }

  /// Pauses the host of a job after a 429 or 503, whether or not the job is retried: for as long as the host asks, or else for a
  /// backoff that grows with its consecutive requests for a pause.
  func recordBusy(_ slot: Int, status: Int, asked: Duration?) {
    let host = pending[slot].host
    record(slot, .busy)
    let backoff = pending[slot].patience.options.backoff
    let wait = asked ?? configuration.jitter(backoff.limit(beforeRetry: queue[host].pause.timesAsked - 1))
    // The iteration may have begun before the response came.
    pause(host, until: configuration.time.monotonic().advanced(by: wait), status: status)
  }

  private func record(_ slot: Int, _ response: HostResponse) {
    let job = pending[slot]
    let patience = job.patience
    let request = HostRequest(
      begun: job.begun,
      isAwaited: job.tryOfAwaited ?? job.isAwaited,
      isTry: job.tryOfAwaited != nil,
      retries: patience.options.retries,
      backoff: patience.options.backoff
    )
    switch queue.record(response, to: request, from: job.host, now: now) {
    case .none: break
    case .recovered: monitor.forget(hosts.origin(job.host).written)
    case .paused, .down:
      noteFailing(job.host)
      refuseWaiting(for: job.host)
    }
  }

  private func noteFailing(_ host: Int) {
    let policy = queue[host]
    let paused = DownloaderStatistics.PausedHost(
      host: hosts.origin(host).written,
      failure: policy.lastFailure,
      isDown: policy.breaker.isDown
    )
    monitor.note(paused, until: policy.pausedUntil)
  }

  /// Pauses a host until `time`, and fails downloads that may not wait that long.
  func pause(_ host: Int, until time: MonotonicInstant, status: Int) {
    guard time > now else { return }
    queue.pause(host, until: time, status: status, now: now)
    monitor.note(DownloaderStatistics.PausedHost(host: hosts.origin(host).written, status: status), until: time)
    if queue.triesPatience(of: host, now: now) { refuseWaiting(for: host) }
  }

  /// Fails the waiting downloads of a host that may not wait that long.
  func refuseWaiting(for host: Int) {
    var least = Duration.seconds(Int64.max)
    defer { queue.setLeastPatience(least, of: host) }
    for slot in queue.slots(waitingFor: host) {
      if pending[slot].waiters.contains(where: { refusal(of: $0, slot) != nil }), case .queued(let time) = pending[slot].activity
      {
        queue.remove(slot: slot, host: host)
        pending[slot].change(to: .none)
        if isRefused(slot) { continue }
        addToQueue(slot, notBefore: time)
      }
      least = min(least, pending[slot].patience.options.retryAfterMaximum)
    }
  }

  /// Fails the downloads of a job that neither waits nor runs whose host gets no request of theirs now. Returns whether that ended it.
  func isRefused(_ slot: Int) -> Bool {
    queue[pending[slot].host].mayRefuse && leave(slot) { refusal(of: $0, slot) }
  }

  /// Why the host of a job gets no request of that download now; nil if it does.
  private func refusal(of waiter: WaitingDownload, _ slot: Int) -> ImageFailure? {
    let host = pending[slot].host
    let wasAsked = pending[slot].summary.attempts > 0
    return queue[host].refusal(of: hosts.origin(host), waiter.patience, wasAsked: wasAsked, now: now)
  }

  /// Fails those downloads of a job that neither waits nor runs for which `failure` returns one. Returns whether that ended it.
  func leave(_ slot: Int, _ failure: (WaitingDownload) -> ImageFailure?) -> Bool {
    let failures = pending[slot].waiters.map(failure)
    guard failures.contains(where: { $0 != nil }) else { return false }
    if !failures.contains(where: { $0 == nil }) {
      end(slot, failures)
      return true
    }
    for (waiter, failure) in zip(pending[slot].waiters, failures) {
      guard let failure else { continue }
      _ = pending.leave(slot) { $0.is(waiter.id, of: waiter.client) }
      fail(waiter, failure, pending[slot])
    }
    return false
  }

  /// The nanoseconds from the request to the first byte; nil unless limits adapt.
  private func latency(of transfer: Transfer) -> UInt64? {
    guard queue.rules.isAdaptive else { return nil }
    let (sent, responded) = (transfer.amount(CURLINFO_PRETRANSFER_TIME_T), transfer.amount(CURLINFO_STARTTRANSFER_TIME_T))
    return responded > sent ? UInt64(responded - sent) * 1000 : nil
  }
}

extension Transfer {
  fileprivate func requestedPause(now: Timestamp) -> Duration? {
    fields.bytes(.retryAfter).flatMap { RetryAfter.wait($0, date: fields.bytes(.date), now: now) }
  }
}
