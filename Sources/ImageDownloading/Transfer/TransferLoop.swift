import Base
import Platform

/// The transfer thread: it owns all downloads and their order, and runs the first engine.
///
/// An iteration: sleep until an event; run libcurl; take messages; conclude ended transfers; start waiting ones; deliver events. It sleeps
/// indefinitely if no socket, timer or message wakes it. Separate files have its parts: sharing, requests, hosts, `robots.txt`,
/// loaders, progress.
final class TransferLoop: @unchecked Sendable {
  // Sendable because it is created on one thread and then used by the transfer thread only.

  let inbox: Inbox
  let monitor: Monitor
  let time: TimeSource
  /// The engine of this thread, and those of other threads.
  let engine: TransferEngine
  private(set) var others: [EngineThread] = []
  /// The same, for all threads.
  let threads = EngineThreads()
  var choice = EngineChoice()
  let shares: CurlShares
  let order: DownloadOrder?
  let defaultHeaders: [HeaderField]
  let loaders: [any ImageLoader]
  let redirects = RedirectResolver()
  let retries: RetryPolicy
  let keptBytes = KeptBytes()

  var clients: [Int: ClientState] = [:]
  var queue: DownloadQueue
  var pending = PendingTransferTable()
  var hosts = HostTable()
  /// When the certificates of hosts expire, as far as responses were to be described.
  var certificateEnds: [Int: Timestamp] = [:]
  var transfers: [Transfer] = []
  /// The indices of free transfers, by engine.
  var free: [[Int]] = [[]]
  var loads: [UInt64: Load] = [:]
  /// No load can exceed its time limit before this.
  var nextLoadLimit = MonotonicInstant(nanoseconds: .max)
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
  /// By engine: the connections that those of other threads have opened so far.
  var openedElsewhere = [0]
  /// The origins without HEAD or ranges.
  var refusals = MethodRefusals()
  /// The limits as last set as a whole.
  private var limits: DownloadLimits?
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
    engine = try TransferEngine(number: 0, wakeDescriptor: inbox.descriptor, time: time)
    shares = try CurlShares()
    queue = DownloadQueue(
      concurrency: configuration.maxConcurrentDownloads,
      perHost: configuration.maxConcurrentPerHost,
      breaker: configuration.circuitBreaker
    )
    limitConnections()
    clients[Self.robotsClient] = ClientState(robotsReceiver)
  }

  /// Runs until it is shut down.
  func run() {
    while !isEnding { iterate() }
    for other in others { other.end() }
    others.removeAll()
    threads.removeAll()
    transfers.removeAll()
    clients.removeAll()
    pauseObserver = nil
    inbox.ended.set(())
  }

  private func iterate() {
    let isWoken = engine.poll(milliseconds: sleepMilliseconds) { monitor.pipeline.transfersWoke(at: $0) }
    takeRecords()
    if isWoken { takeMessages() }
    concludeEnded()
    boundCookies()
    checkTimeLimits()
    let limit = startWaiting()
    for other in others {
      other.resume()
      other.flush()
    }
    for client in clients.values { client.deliver() }
    if takeRobots() { hasMore = true }
    monitor.update(
      now: now,
      limit: limit,
      running: queue.running,
      engineRunning: engine.running,
      waiting: queue.waiting + heldJobs,
      openedConnections: openedElsewhere.reduce(engine.record.openedConnections, +)
    )
  }

  private var sleepMilliseconds: Int32 {
    if hasMore { return 0 }
    return engine.sleepMilliseconds(until: min(queue.nextStart ?? nextLoadLimit, nextLoadLimit))
  }

  /// The time of this iteration, read once after the sleep.
  var now: MonotonicInstant { engine.record.now }

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
        limits?.concurrency = concurrency
        limitsChanged()
      case .setLimits(let limits):
        queue.setLimits(limits, now: time.monotonic())
        self.limits = limits
        limitsChanged()
      case .pause(let origin, let duration, let status): pause(origin, for: duration, status: status)
      case .setPauseObserver(let observer): pauseObserver = observer
      case .setSuspended(let isSuspended): self.isSuspended = isSuspended
      case .capacityChanged: break  // Waking up suffices.
      case .loaded(let number, let result): concludeLoad(number, result)
      case .report(let report): take(report)
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
    guard engine.record.cookiesSet >= CurlShares.checkedCookies else { return }
    engine.record.cookiesSet = 0
    // So that none sets a cookie meanwhile.
    for other in others { other.whileHalted { _ in } }
    shares.boundCookies()
  }

  private func limitsChanged() {
    if let limits { setThreads(limits.threads(cores: sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
    monitor.forgetPeak()
    limitConnections()
  }

  /// Twice as many connections as transfers, so that idle ones stay open for hosts that alternate.
  private func limitConnections() {
    let count = (queue.concurrency * 2 + choice.count - 1) / choice.count
    engine.setMaximumConnections(count)
    for other in others { other.setMaximumConnections(count) }
  }

  /// Makes `count` threads run transfers, or fewer if the system has no more. Those beyond a lower number run what they have to its end.
  private func setThreads(_ count: Int) {
    while others.count < count - 1 {
      do throws(DownloaderError) {
        let thread = try EngineThread(number: others.count + 1, inbox: inbox, meter: monitor.pipeline, time: time)
        others.append(thread)
        threads.add(thread)
        free.append([])
        openedElsewhere.append(0)
      } catch {
        break
      }
    }
    choice.setCount(min(count, 1 + others.count))
  }
}
