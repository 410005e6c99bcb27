import ImagePrimitives

/// Somebody who wants to know how far a download is: what to tell, and when.
struct ProgressWatch {
  let client: ClientState
  let id: UInt64
  private let interval: Duration
  private var isStartTold = false
  private var isHeadTold = false
  private var lastTold: MonotonicInstant?
  private var last: (received: Int, expected: Int?)?

  init(_ download: Download, client: ClientState) {
    self.client = client
    id = download.id
    interval = download.progressInterval
  }

  /// Its job runs: told once, not again by a retry; the body begins anew unless `isContinued`.
  mutating func start(isContinued: Bool = false) {
    if !isContinued {
      isHeadTold = false
      last = nil
    }
    guard !isStartTold else { return }
    isStartTold = true
    client.notify(.started(id: id))
  }

  /// So many bytes have come; before the first of them it tells the head, and that none had come.
  mutating func advance(to received: Int, of expected: Int?, now: MonotonicInstant, head: @autoclosure () -> ResponseHead?) {
    if !isHeadTold {
      isHeadTold = true
      if let head = head() { client.notify(.response(id: id, head)) }
      tell(0, expected, now)
    }
    guard let last, let lastTold, received > last.received, now >= lastTold.advanced(by: interval) else { return }
    tell(received, expected, now)
  }

  /// All has come.
  mutating func finish(_ received: Int, now: MonotonicInstant, head: @autoclosure () -> ResponseHead?) {
    advance(to: 0, of: received, now: now, head: head())
    if last?.received != received || last?.expected != received { tell(received, received, now) }
  }

  private mutating func tell(_ received: Int, _ expected: Int?, _ now: MonotonicInstant) {
    last = (received, expected)
    lastTold = now
    client.notify(.progress(id: id, received: received, expected: expected))
  }
}

/// Telling how far jobs are, to who asked for it.
extension TransferLoop {
  func watch(_ download: Download, of client: ClientState, slot: Int) {
    guard download.wantsProgress else { return }
    var watch = ProgressWatch(download, client: client)
    switch pending[slot].activity {
    case .transferring(let place):
      watch.start()
      transfers[place].isObserved = true
    case .loading: watch.start()
    case .none, .queued, .held, .awaitingRobots: break
    }
    watches[slot, default: []].append(watch)
  }

  func forgetWatch(_ waiter: Waiter, _ slot: Int) {
    watches[slot]?.removeAll { $0.id == waiter.id && $0.client === waiter.client }
  }

  func notifyStarted(_ slot: Int) {
    let isContinued = pending[slot].continuation != nil || pending[slot].accepted != nil
    update(slot) { $0.start(isContinued: isContinued) }
  }

  /// Tells what has come in this turn.
  func notifyProgress() {
    guard !iteration.progressed.isEmpty else { return }
    for place in iteration.progressed {
      let transfer = transfers[place]
      transfer.isNoted = false
      // It may have ended by now and serve another job.
      guard let slot = transfer.job, transfer.disposition == .kept else { continue }
      update(slot) {
        $0.advance(to: transfer.bodyBytes, of: transfer.declaredBytes, now: iteration.now, head: transfer.responseHead)
      }
    }
    iteration.progressed.removeAll(keepingCapacity: true)
  }

  /// Tells the last of a transfer that has ended, before its end.
  func notifyEnd(of transfer: Transfer, _ slot: Int, _ outcome: TransferOutcome) {
    update(slot) { watch in
      switch outcome {
      case .image: watch.finish(transfer.bodyBytes, now: iteration.now, head: transfer.responseHead)
      case .redirect, .headRefused, .needsMore, .startOver, .remoteCache: break
      case .notModified, .failure:
        // What came of the body of an answer that counts for nothing is no progress.
        if let head = transfer.responseHead { watch.advance(to: 0, of: transfer.declaredBytes, now: iteration.now, head: head) }
      }
    }
  }

  /// Tells the last of a load.
  func notifyLoaded(_ slot: Int, _ answer: LoaderResponse) {
    update(slot) { watch in
      if !answer.isNotModified { watch.finish(answer.body.count, now: iteration.now, head: nil) }
    }
  }

  private func update(_ slot: Int, _ change: (inout ProgressWatch) -> Void) {
    guard !watches.isEmpty, var list = watches[slot] else { return }
    for place in list.indices { change(&list[place]) }
    watches[slot] = list
  }
}
