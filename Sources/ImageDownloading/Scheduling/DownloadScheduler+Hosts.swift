import CCurl
import Base

extension DownloadScheduler {
  /// Records the outcome of a transfer for its host, before it is released. Returns the pause that the host asks for, if any.
  func record(_ outcome: TransferOutcome, of transfer: Transfer, _ slot: Int) -> Duration? {
    let host = pending[slot].host
    let failure: ImageFailure
    var isTentative = false
    switch outcome {
    case .failure(let ended): failure = ended
    case .refused(let refusal) where refusal.failure.isTransient: (failure, isTentative) = (refusal.failure, true)
    default:
      record(host, .responded(latencyNanoseconds: latency(of: transfer)))
      return nil
    }
    if let status = failure.status, failure.kind == .httpStatus, HTTPStatus.asksForPause(status) {
      let wait = transfer.requestedPause(now: configuration.time.wall())
      recordBusy(slot, status: status, begun: transfer.request.started, asked: wait)
      return wait
    }
    if isTentative {
      // The plain GET shows whether the host fails.
      record(host, .nothing)
    } else if failure.unreachableReason != nil {
      let options = pending[slot].download.options
      record(host, .unreachable(failure, retries: options.retries, backoff: options.backoff))
    } else if failure.kind == .truncated || failure.kind == .reset, transfer.statusOnWire > 0 {
      record(host, .cut)
    } else if failure.isTransient {
      record(host, .failed(failure))
    } else {
      record(host, transfer.statusOnWire > 0 ? .responded(latencyNanoseconds: nil) : .nothing)
    }
    return nil
  }

  /// Pauses the host of a job after a 429 or 503, whether or not the job is retried: for as long as the host asks, or else for a
  /// backoff that grows with its consecutive requests for a pause.
  func recordBusy(_ slot: Int, status: Int, begun: MonotonicInstant, asked: Duration?) {
    let host = pending[slot].host
    record(host, .busy(begun: begun))
    let backoff = pending[slot].download.options.backoff
    let wait = asked ?? configuration.jitter(backoff.limit(beforeRetry: queue[host].pause.timesAsked - 1))
    // The iteration may have begun before the response came.
    pause(host, until: configuration.time.monotonic().advanced(by: wait), status: status)
  }

  private func record(_ host: Int, _ response: HostResponse) {
    switch queue.record(response, from: host, now: now) {
    case .none: break
    case .paused: noteFailing(host)
    case .recovered: monitor.forget(hosts.origin(host).written)
    case .down:
      noteFailing(host)
      refuseWaiting(for: host)
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
  private func refuseWaiting(for host: Int) {
    var least = Duration.seconds(Int64.max)
    defer { queue.setLeastPatience(least, of: host) }
    for slot in queue.slots(waitingFor: host) {
      guard let failure = refusal(of: slot) else {
        least = min(least, pending[slot].download.options.retryAfterMaximum)
        continue
      }
      queue.remove(slot: slot, host: host)
      pending[slot].change(to: .none)
      end(slot, failure)
    }
  }

  /// Why the host of a job gets no request now; nil if it does.
  func refusal(of slot: Int) -> ImageFailure? {
    let (host, patience) = (pending[slot].host, pending[slot].download.options.retryAfterMaximum)
    guard queue[host].mayRefuse else { return nil }
    let wasAsked = pending[slot].summary.attempts > 0
    return queue[host].refusal(of: hosts.origin(host), patience: patience, wasAsked: wasAsked, now: now)
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
