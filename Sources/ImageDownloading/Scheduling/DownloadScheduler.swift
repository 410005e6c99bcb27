import Platform
import Base

/// The transfer thread: it owns all downloads and their order, and runs the first loop.
///
/// An iteration: sleep until an event; run libcurl; take messages; conclude ended transfers; start waiting ones; deliver events.
/// Separate files have its parts: sharing, requests, hosts, `robots.txt`, loaders, progress.
final class DownloadScheduler: @unchecked Sendable {
  // Sendable because it is created on one thread and then used by the transfer thread only.

  let configuration: ImageDownloader.Configuration
  let inbox: Inbox
  let monitor: Monitor
  let pool: TransferPool
  let normalizer = URLNormalizer()
  let keptBytes = KeptBytes()

  var clients: [Int: ClientState] = [:]
  var queue: DownloadQueue
  var pending = SingleFlight<QueuedDownload>()
  var hosts = HostTable()
  private var limitsOfHosts: [HostPattern: DownloadLimits.OfHost] = [:]
  /// When the certificates of hosts expire, as far as responses were to be described.
  var certificateEnds: [Int: Timestamp] = [:]
  /// The running loads, by number.
  var loads: [UInt64: Load] = [:]
  var lastLoad: UInt64 = 0
  var arrivals: Int64 = 0
  var isSuspended = false
  /// Whether the next iteration must not sleep.
  var hasMore = false
  var robots = RobotsRegistry()
  /// The client whose downloads are the `robots.txt` files.
  let robotsClient = ClientState(nil)
  var refusals = MethodRefusals()
  private var messages: [Inbox.Message] = []
  /// Its storage is reused.
  var report = CurlReport(0)
  private var isEnding = false

  init(_ configuration: ImageDownloader.Configuration, inbox: Inbox, monitor: Monitor) throws(DownloaderError) {
    self.configuration = configuration
    self.inbox = inbox
    self.monitor = monitor
    let limits = configuration.limits
    pool = try TransferPool(wakeDescriptor: inbox.descriptor, time: configuration.time)
    queue = DownloadQueue(concurrency: limits.concurrency, perHost: limits.perHost, breaker: configuration.circuitBreaker)
    pool.limitConnections(concurrency: limits.concurrency)
    // Clients of others have numbers from 1 on.
    clients[0] = robotsClient
  }

  func run() {
    while !isEnding { iterate() }
    pool.end()
    clients.removeAll()
    inbox.ended.set(())
  }

  private func iterate() {
    let isWoken = pool.loop.poll(milliseconds: sleepMilliseconds) { monitor.pipeline.loopWoke(0, at: $0) }
    if isWoken { takeMessages() }
    takeReport()
    pool.boundCookies()
    checkLoadLimits()
    let limit = startWaiting()
    pool.flush()
    for client in clients.values { client.deliver() }
    if takeRobots() { hasMore = true }
    monitor.update(
      limit: limit,
      running: queue.running,
      loopRunning: pool.loop.running,
      // In the queue, for another of their identity, or for a `robots.txt`.
      waiting: pending.count - queue.running,
      openedConnections: pool.openedConnectionCount
    )
  }

  private var sleepMilliseconds: Int32 {
    if hasMore { return 0 }
    let never = MonotonicInstant(nanoseconds: .max)
    return pool.loop.sleepMilliseconds(until: min(queue.nextStart ?? never, loads.values.lazy.map(\.deadline).min() ?? never))
  }

  /// The time of this iteration, read once after the sleep.
  var now: MonotonicInstant { pool.loop.record.now }

  private func takeMessages() {
    var closed: [WaitableState<Bool>] = []
    inbox.takeAll(into: &messages)
    for message in messages {
      switch message {
      case .open(let client, let receiver): clients[client] = ClientState(receiver)
      case .close(let client, let isClosed):
        close(client)
        if let isClosed { closed.append(isClosed) }
      case .submit(let client, let downloads):
        if let client = clients[client] { for download in downloads { submit(download, of: client) } }
      case .cancel(let client, let ids, let includingRunning):
        if let client = clients[client] { for id in ids { cancel(id, of: client, includingRunning: includingRunning) } }
      case .cancelAll(let includingRunning):
        for client in clients.values { cancelAll(of: client, includingRunning: includingRunning) }
      case .setPriority(let client, let id, let priority, let patience):
        if let client = clients[client] { setPriority(priority, patience: patience, of: id, of: client) }
      case .setLimits(let limits): setLimits(limits)
      case .setSuspended(let isSuspended): self.isSuspended = isSuspended
      case .capacityChanged: break  // Waking up suffices.
      case .loaded(let number, let result): concludeLoad(number, result)
      case .report(let report): take(report)
      case .clearCookies: pool.clearCookies()
      case .forgetFailures:
        queue.forgetFailures()
        pool.closeIdleConnections()
        monitor.forgetFailures()
      case .shutDown:
        for client in clients.values { cancelAll(of: client, includingRunning: true) }
        isEnding = true
      }
    }
    messages.removeAll(keepingCapacity: true)
    // After the messages are removed, since one may have retained the receiver.
    for isClosed in closed { isClosed.withLock(waking: .all) { $0 = true } }
  }

  /// Returns the number of the host to which downloads of `origin` connect; each call needs one of ``releaseHost(_:)``.
  func retainHost(of origin: URLOrigin, _ options: DownloadOptions) -> Int {
    let host = origin.connecting(by: options)
    if limitsOfHosts.isEmpty { return hosts.retain(host) }
    return hosts.retain(host) { number in
      if let limits = ownLimits(of: host) { queue.setLimits(limits, of: number) }
    }
  }

  private func ownLimits(of host: URLOrigin) -> DownloadLimits.OfHost? {
    limitsOfHosts.value(of: host.hostAndPort, isSecure: host.isSecure)
  }

  private func setLimits(_ limits: DownloadLimits) {
    limitsOfHosts = limits.hosts
    queue.setLimits(limits, now: configuration.time.monotonic()) { hosts.known($0).flatMap(ownLimits) }
    pool.setThreads(limits.threads(cores: sysconf(Int32(_SC_NPROCESSORS_ONLN)))) { number throws(DownloaderError) in
      try CurlThread(number: number, inbox: inbox, meter: monitor.pipeline, time: configuration.time)
    }
    pool.limitConnections(concurrency: limits.concurrency)
    monitor.forgetPeak()
  }
}

/// Taking what loops have recorded.
extension DownloadScheduler {
  /// Takes the report of this thread's loop. Returns whether it may let others start.
  @discardableResult
  func takeReport() -> Bool {
    pool.loop.takeReport(&report)
    let isNews = !report.events.isEmpty
    take(report)
    // Now, since bodies are large.
    report.removeAll()
    return isNews
  }

  /// Takes the report of a loop, and concludes the transfers that have ended there.
  func take(_ report: CurlReport) {
    pool.count(report)
    for (id, event) in report.events {
      guard let transfer = pool[id], let slot = transfer.job else { continue }
      switch event {
      case .advanced(let phase):
        // The host's other transfers may start.
        if transfer.request.isCountedAsResolving { countAsResolved(transfer) }
        if phase == .connected { queue.connected(host: pending[slot].host) }
      case .chunk(let attempt, let bytes):
        pending[slot].hasHandedOver = true
        pending[slot].waiters.forEach { $0.client.notify(.chunk(id: $0.id, attempt: attempt, bytes: bytes)) }
      case .restarted: notifyRestarted(slot)
      case .progressed(let received, let expected, let head):
        // A watch that was added since then gets the head with the next progress.
        for watch in pending[slot].watches where watch.hasNotifiedHead || head != nil {
          watch.advance(to: received, of: expected, now: now, head: head)
        }
      case .ended(let outcome): conclude(transfer, slot, outcome)
      }
    }
  }

  /// Notifies all waiters that the chunks so far are void.
  func notifyRestarted(_ slot: Int) {
    pending[slot].hasHandedOver = false
    pending[slot].waiters.forEach { $0.client.notify(.restarted(id: $0.id)) }
  }
}
