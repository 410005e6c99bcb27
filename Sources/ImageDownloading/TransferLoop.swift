import CCurl
import ImagePrimitives

/// The transfer thread: it owns the multi handle, every easy handle, and everything that waits.
///
/// A turn: sleep until something happens; let libcurl work; take messages; conclude what has ended; start what may start; tell the
/// receiver. It sleeps without end where no socket, no timer and no message calls.
final class TransferLoop: @unchecked Sendable {
  // Sendable because it is made whole on one thread and from then on touched by the transfer thread alone.

  private let inbox: Inbox
  private let monitor: Monitor
  private let receiver: any DownloadReceiver
  private let order: DownloadOrder?
  private let time: TimeSource
  private let multi: CurlMulti
  private let redirects = RedirectResolver()
  private let retries: RetryPolicy
  let turn: Turn

  var queue: DownloadQueue
  var jobs = JobTable()
  private var hosts = HostTable()
  private(set) var transfers: [Transfer] = []
  private var free: [Int] = []
  private var arrivals: Int64 = 0
  private var messages: [Inbox.Message] = []
  private var isSuspended = false
  private var isEnding = false
  /// Whether the next turn must not sleep.
  private var hasMore = false
  /// No transfer can break a time limit before this.
  private var nextTimeLimit = MonotonicInstant(nanoseconds: .max)

  init(
    _ configuration: ImageDownloader.Configuration,
    inbox: Inbox,
    monitor: Monitor,
    receiver: any DownloadReceiver
  ) throws(DownloaderError) {
    self.inbox = inbox
    self.monitor = monitor
    self.receiver = receiver
    order = configuration.order
    time = configuration.time
    retries = RetryPolicy(jitter: configuration.jitter)
    turn = Turn(now: configuration.time.monotonic())
    multi = try CurlMulti(wakeDescriptor: inbox.descriptor, turn: turn)
    queue = DownloadQueue(concurrency: configuration.maxConcurrentDownloads, perHost: configuration.maxConcurrentPerHost)
    multi.setMaximumConnections(queue.concurrency * 2)
  }

  /// Runs until told to end.
  func run() {
    while !isEnding { takeTurn() }
    transfers.removeAll()
  }

  private func takeTurn() {
    let isWoken = multi.poll(milliseconds: sleepMilliseconds, time: time)
    noteAdvances()
    if isWoken { takeMessages() }
    concludeEnded()
    checkTimeLimits()
    let limit = startWaiting()
    deliver()
    monitor.update(
      now: turn.now,
      limit: limit,
      running: queue.running,
      waiting: queue.waiting,
      openedConnections: turn.openedConnections
    )
  }

  /// Rounded up, so that what is waited for is due when the sleep ends; -1 for a sleep without end.
  private var sleepMilliseconds: Int32 {
    if hasMore { return 0 }
    let wake = min(multi.timer?.nanoseconds ?? .max, queue.nextRetry?.nanoseconds ?? .max, nextTimeLimit.nanoseconds)
    guard wake < .max else { return -1 }
    let now = time.monotonic().nanoseconds
    return wake <= now ? 0 : Int32(clamping: (wake - now + 999_999) / 1_000_000)
  }

  private func deliver() {
    guard !turn.events.isEmpty else { return }
    receiver.receive(turn.events)
    turn.events.removeAll(keepingCapacity: true)
  }

  // MARK: Messages

  private func takeMessages() {
    inbox.takeAll(into: &messages)
    for message in messages {
      switch message {
      case .submit(let downloads): downloads.forEach(submit)
      case .cancel(let ids, let includingRunning):
        for id in ids { if let slot = jobs.slot(of: id) { cancel(slot, includingRunning: includingRunning) } }
      case .cancelAll(let includingRunning): cancelAll(includingRunning: includingRunning)
      case .setLimits(let concurrency, let perHost):
        queue.setLimits(concurrency: concurrency, perHost: perHost)
        monitor.forgetPeak()
        multi.setMaximumConnections(queue.concurrency * 2)
      case .setSuspended(let isSuspended): self.isSuspended = isSuspended
      case .capacityChanged: break  // Being awake is all it takes.
      case .shutDown:
        cancelAll(includingRunning: true)
        isEnding = true
      }
    }
    messages.removeAll(keepingCapacity: true)
  }

  private func submit(_ download: Download) {
    var download = download
    if let order {
      arrivals += 1
      download.sequence = order.sequence(ofArrival: arrivals)
    }
    guard let origin = URLOrigin(download.url) else {
      let failure = Failure(.invalidURL, message: "the URL is no normalised http or https URL")
      return turn.events.append(.failed(id: download.id, failure, TransferSummary()))
    }
    let slot = jobs.insert(Job(download, host: hosts.retain(origin)))
    enqueue(slot)
  }

  private func cancelAll(includingRunning: Bool) {
    for slot in jobs.inUse { cancel(slot, includingRunning: includingRunning) }
  }

  private func cancel(_ slot: Int, includingRunning: Bool) {
    guard includingRunning || jobs[slot].isWaiting else {
      // What runs may end; what fails is not tried again.
      jobs[slot].mayRetry = false
      return
    }
    if let place = jobs[slot].place {
      release(transfers[place], of: slot)
    } else {
      queue.remove(slot: slot, host: jobs[slot].host)
    }
    let job = finish(slot)
    turn.events.append(.cancelled(id: job.download.id, job.summary))
  }

  // MARK: Starting

  private func enqueue(_ slot: Int, notBefore time: MonotonicInstant? = nil) {
    let job = jobs[slot]
    queue.insert(
      slot: slot,
      host: job.host,
      priority: job.download.priority,
      sequence: job.download.sequence,
      notBefore: time,
      continues: job.isRedirected
    )
  }

  /// Starts all that may start, and returns what keeps the rest.
  private func startWaiting() -> StartLimit {
    let startsNew = !isSuspended && receiver.mayStart
    var hasStarted = false
    while true {
      switch queue.next(now: turn.now, startsNew: startsNew) {
      case .start(let slot, let resolves):
        start(slot, resolves: resolves)
        hasStarted = true
      case .none(let limit):
        if hasStarted {
          multi.actOnTime()
          // What advanced or ended at once may let others start.
          let hasAdvanced = noteAdvances()
          hasMore = concludeEnded() || hasAdvanced
        } else {
          hasMore = false
        }
        return limit
      }
    }
  }

  private func start(_ slot: Int, resolves: Bool) {
    let place = free.popLast() ?? transfers.count
    if place == transfers.count {
      let transfer = Transfer(place: place, options: jobs[slot].download.options, turn: turn)
      multi.share(with: transfer.easy)
      transfers.append(transfer)
    }
    let transfer = transfers[place]
    jobs[slot].begin(place: place, now: turn.now)
    let isOwnOrigin = !jobs[slot].isRedirected || URLOrigin(jobs[slot].url) == URLOrigin(jobs[slot].download.url)
    transfer.begin(jobs[slot], slot: slot, isOwnOrigin: isOwnOrigin, resolves: resolves)
    nextTimeLimit = min(nextTimeLimit, transfer.earliestTimeLimit)
    let code = multi.add(transfer.easy)
    guard code != CURLM_OK else { return }
    release(transfer, of: slot)
    settle(slot, .failure(Failure(.internal, message: "libcurl took no request: \(String(cString: curl_multi_strerror(code)))")))
  }

  /// Lets others of a host start where the first has resolved or connected; true where there was any.
  @discardableResult
  private func noteAdvances() -> Bool {
    guard !turn.advanced.isEmpty else { return false }
    for place in turn.advanced {
      let transfer = transfers[place]
      guard transfer.resolves, let slot = transfer.job else { continue }
      if transfer.isCountedAsResolving, transfer.phase != .resolving { countAsResolved(transfer) }
      if transfer.phase == .connected { queue.connected(host: jobs[slot].host) }
    }
    turn.advanced.removeAll(keepingCapacity: true)
    return true
  }

  private func countAsResolved(_ transfer: Transfer) {
    transfer.isCountedAsResolving = false
    queue.resolved()
  }

  // MARK: Ending

  /// Concludes what libcurl has ended; true where there was any.
  @discardableResult
  private func concludeEnded() -> Bool {
    var hasAny = false
    while let ended = multi.nextEnded() {
      var context: UnsafeMutableRawPointer?
      curl_get_pointer(ended.easy, CURLINFO_PRIVATE, &context)
      conclude(Transfer.of(context)) { $0.verdict(ended.code) }
      hasAny = true
    }
    return hasAny
  }

  /// Ends transfers that take too long, and finds when the next may.
  private func checkTimeLimits() {
    guard turn.now >= nextTimeLimit else { return }
    nextTimeLimit = MonotonicInstant(nanoseconds: .max)
    for transfer in transfers where transfer.job != nil {
      if let failure = transfer.brokenTimeLimit(turn.now) {
        conclude(transfer) { _ in .failure(failure) }
      } else {
        nextTimeLimit = min(nextTimeLimit, transfer.nextTimeLimit)
      }
    }
  }

  private func conclude(_ transfer: Transfer, _ judge: (Transfer) -> Verdict) {
    guard let slot = transfer.job else { return }
    let verdict = judge(transfer)
    let hasHandedOver = transfer.hasHandedOver
    var failedToConnect = false
    if case .failure = verdict { failedToConnect = transfer.phase != .connected }
    release(transfer, of: slot, failedToConnect: failedToConnect)
    settle(slot, verdict, hasHandedOver: hasHandedOver)
  }

  /// Takes a transfer from libcurl, adds what it cost to its job, and makes it free.
  private func release(_ transfer: Transfer, of slot: Int, failedToConnect: Bool = false) {
    jobs[slot].end(transfer, now: turn.now)
    multi.remove(transfer.easy)
    if transfer.isCountedAsResolving { countAsResolved(transfer) }
    queue.finished(host: jobs[slot].host, failedToConnect: failedToConnect)
    transfer.end()
    free.append(transfer.place)
  }

  /// Decides what becomes of a job after a request: it ends, follows a redirect, or tries again.
  private func settle(_ slot: Int, _ verdict: Verdict, hasHandedOver: Bool = false) {
    switch verdict {
    case .image(var image):
      let job = finish(slot)
      image.summary = job.summary
      if job.isRedirected { image.finalURL = job.url }
      turn.events.append(.finished(id: job.download.id, image))
    case .redirect(let location):
      switch redirects.resolve(location, of: jobs[slot]) {
      case .success(let url): follow(slot, to: url)
      case .failure(let failure): settle(slot, .failure(failure))
      }
    case .failure(let failure):
      if jobs[slot].mayRetry, let time = retries.time(after: failure, of: jobs[slot], now: turn.now) {
        if hasHandedOver { turn.events.append(.restarted(id: jobs[slot].download.id)) }
        jobs[slot].restart(now: turn.now)
        move(slot, to: jobs[slot].url)
        enqueue(slot, notBefore: time)
      } else {
        let job = finish(slot)
        turn.events.append(.failed(id: job.download.id, failure, job.summary))
      }
    }
  }

  private func follow(_ slot: Int, to url: [UInt8]) {
    jobs[slot].follow(to: url)
    move(slot, to: url)
    enqueue(slot)
  }

  /// Counts a job for the host of its next request.
  private func move(_ slot: Int, to url: [UInt8]) {
    guard let origin = URLOrigin(url) else { preconditionFailure("redirects lead to normalised URLs") }
    let host = hosts.retain(origin)
    releaseHost(jobs[slot].host)
    jobs[slot].host = host
  }

  private func finish(_ slot: Int) -> Job {
    let job = jobs.remove(slot)
    releaseHost(job.host)
    return job
  }

  private func releaseHost(_ host: Int) {
    if hosts.release(host) { queue.forget(host: host) }
  }
}
