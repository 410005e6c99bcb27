import ImagePrimitives
import Threads

/// The transfer thread: it owns the multi handle, every easy handle, and all waiting downloads.
///
/// An iteration: sleep until an event; run libcurl; take messages; conclude ended transfers; start waiting ones; deliver events. It sleeps
/// indefinitely if no socket, timer or message wakes it. Separate files have its parts: sharing, requests, hosts, `robots.txt`,
/// loaders, progress.
final class TransferLoop: @unchecked Sendable {
  // Sendable because it is created on one thread and then used by the transfer thread only.

  let inbox: Inbox
  let monitor: Monitor
  let time: TimeSource
  let multi: CurlMulti
  let shares: CurlShares
  let order: DownloadOrder?
  let defaultHeaders: [HeaderField]
  let loaders: [any ImageLoader]
  let redirects = RedirectResolver()
  let retries: RetryPolicy
  let iteration: LoopIteration

  var clients: [Int: ClientState] = [:]
  var queue: DownloadQueue
  var pending = PendingTransferTable()
  var hosts = HostTable()
  var transfers: [Transfer] = []
  /// The indices of free transfers.
  var free: [Int] = []
  var loads: [UInt64: Load] = [:]
  var lastLoad: UInt64 = 0
  /// By slot: reports of progress.
  var watches: [Int: [ProgressWatch]] = [:]
  var arrivals: Int64 = 0
  /// Jobs that wait for another of their identity, or for a `robots.txt`.
  var heldJobs = 0
  var isSuspended = false
  /// Whether the next iteration must not sleep.
  var hasMore = false
  /// The rules of `robots.txt`, if they are respected.
  var robots = RobotsRegistry()
  let robotsReceiver = RobotsReceiver()
  /// The origins without HEAD.
  var headRefusals = HeadRefusals()
  /// Called for the pauses that hosts request.
  var pauseObserver: (@Sendable (HostPauseRequest) -> Void)?
  private var messages: [Inbox.Message] = []
  private var isEnding = false

  init(_ configuration: ImageDownloader.Configuration, inbox: Inbox, monitor: Monitor) throws(DownloaderError) {
    self.inbox = inbox
    self.monitor = monitor
    order = configuration.order
    time = configuration.time
    defaultHeaders = configuration.headers
    loaders = configuration.loaders
    retries = RetryPolicy(jitter: configuration.jitter)
    iteration = LoopIteration(now: configuration.time.monotonic())
    multi = try CurlMulti(wakeDescriptor: inbox.descriptor, iteration: iteration)
    shares = try CurlShares()
    queue = DownloadQueue(
      concurrency: configuration.maxConcurrentDownloads,
      perHost: configuration.maxConcurrentPerHost,
      breaker: configuration.circuitBreaker
    )
    multi.setMaximumConnections(queue.concurrency * 2)
    clients[Self.robotsClient] = ClientState(robotsReceiver)
  }

  /// Runs until it is shut down.
  func run() {
    while !isEnding { iterate() }
    transfers.removeAll()
    clients.removeAll()
    pauseObserver = nil
    inbox.ended.set(())
  }

  private func iterate() {
    let isWoken = multi.poll(milliseconds: sleepMilliseconds, time: time, meter: monitor.pipeline)
    noteAdvances()
    notifyChunks()
    notifyProgress()
    if isWoken { takeMessages() }
    concludeEnded()
    boundCookies()
    checkTimeLimits()
    let limit = startWaiting()
    for client in clients.values { client.deliver() }
    if takeRobots() { hasMore = true }
    monitor.update(
      now: iteration.now,
      limit: limit,
      running: queue.running,
      waiting: queue.waiting + heldJobs,
      openedConnections: iteration.openedConnections
    )
  }

  /// Rounded up, so that the next event is due when the sleep ends; -1 to sleep indefinitely.
  private var sleepMilliseconds: Int32 {
    if hasMore { return 0 }
    let wake = min(multi.timer?.nanoseconds ?? .max, queue.nextStart?.nanoseconds ?? .max, iteration.nextTimeLimit.nanoseconds)
    guard wake < .max else { return -1 }
    let now = time.monotonic().nanoseconds
    return wake <= now ? 0 : Int32(clamping: (wake - now + 999_999) / 1_000_000)
  }

  /// Delivers streamed chunks to all waiters.
  func notifyChunks() {
    guard !iteration.streamed.isEmpty else { return }
    for streamed in iteration.streamed {
      switch streamed {
      case .chunk(let slot, let attempt, let bytes):
        pending[slot].waiters.forEach { $0.client.notify(.chunk(id: $0.id, attempt: attempt, bytes: bytes)) }
      case .restart(let slot): notifyRestarted(slot)
      }
    }
    iteration.streamed.removeAll(keepingCapacity: true)
  }

  /// Notifies all waiters that the chunks so far are void.
  func notifyRestarted(_ slot: Int) { pending[slot].waiters.forEach { $0.client.notify(.restarted(id: $0.id)) } }

  private func takeMessages() {
    var closed: [Latch] = []
    inbox.takeAll(into: &messages)
    for message in messages {
      switch message {
      case .open(let client, let receiver): clients[client] = ClientState(receiver)
      case .close(let client, let latch):
        close(client)
        if let latch { closed.append(latch) }
      case .submit(let client, let downloads):
        if let client = clients[client] { for download in downloads { submit(download, of: client) } }
      case .cancel(let client, let ids, let includingRunning):
        if let client = clients[client] { for id in ids { cancel(id, of: client, includingRunning: includingRunning) } }
      case .cancelAll(let client, let includingRunning):
        for (number, state) in clients where client == nil || client == number {
          cancelAll(of: state, includingRunning: includingRunning)
        }
      case .setPriority(let client, let id, let priority):
        if let client = clients[client] { setPriority(priority, of: id, of: client) }
      case .setConcurrency(let concurrency, let perHost):
        queue.setLimits(concurrency: concurrency, perHost: perHost)
        limitsChanged()
      case .setLimits(let limits):
        queue.setLimits(limits, now: time.monotonic())
        limitsChanged()
      case .pause(let origin, let duration, let status): pause(origin, for: duration, status: status)
      case .setPauseObserver(let observer): pauseObserver = observer
      case .setSuspended(let isSuspended): self.isSuspended = isSuspended
      case .capacityChanged: break  // Waking up suffices.
      case .loaded(let number, let result): concludeLoad(number, result)
      case .clearCookies: shares.clearCookies()
      case .forgetFailures:
        queue.forgetFailures()
        monitor.forgetFailures()
      case .shutDown:
        for client in clients.values { cancelAll(of: client, includingRunning: true) }
        isEnding = true
      }
    }
    messages.removeAll(keepingCapacity: true)
    // After the messages are removed, since one may have retained the receiver.
    for latch in closed { latch.open() }
  }

  /// libcurl keeps all cookies and searches those of a domain for each one set.
  private func boundCookies() {
    guard iteration.cookiesSet >= CurlShares.checkedCookies else { return }
    iteration.cookiesSet = 0
    shares.boundCookies()
  }

  private func limitsChanged() {
    monitor.forgetPeak()
    multi.setMaximumConnections(queue.concurrency * 2)
  }
}

/// The state of one iteration of the transfer loop: its time, the records of libcurl's callbacks, and when to check time limits.
final class LoopIteration {
  /// A change of a streamed body.
  enum Streamed {
    /// Its next chunk.
    case chunk(slot: Int, attempt: Int, bytes: [UInt8])
    /// Its chunks so far are void.
    case restart(slot: Int)
  }

  /// Read once, after the loop has slept.
  var now: MonotonicInstant
  /// No transfer can exceed a time limit before this.
  var nextTimeLimit = MonotonicInstant(nanoseconds: .max)
  /// In order.
  var streamed: [Streamed] = []
  /// The bytes in memory of bodies to be resumed.
  let keptBytes = KeptBytes()
  /// The indices of transfers that have resolved or connected and that others of their hosts wait for.
  var advanced: [Int] = []
  /// The indices of transfers whose progress is to be reported.
  var progressed: [Int] = []
  /// The number of `Set-Cookie` headers since the last check of the jar.
  var cookiesSet = 0
  /// Connections opened so far, in all iterations.
  var openedConnections = 0

  init(now: MonotonicInstant) { self.now = now }
}
