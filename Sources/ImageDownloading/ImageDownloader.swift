public import Base
import Synchronization

/// Fetches images concurrently, with limits in total and per host, in order, with retries.
///
/// ```
///  DownloadClient ─▶ inbox ─▶ transfers   ─▶ DownloadQueue ─▶ Transfer (libcurl) ─▶ outcome ─▶ events ─▶ each waiter's
///                             one for an        ▲   order, limits   or ImageLoader     │                    receiver
///                             identity          └────────── retry, redirect ◀──────────┘
/// ```
/// One thread, the transfer thread, orders all downloads and runs transfers; with more ``DownloadLimits/threads``, others run transfers
/// too. The methods here and of the clients only send it messages and return, except for `shutDown()`, which waits.
///
/// Receivers, observers, hooks of requests, credentials and ``ImageLoader/canLoad(_:)`` are called on the transfer thread; hooks
/// of responses, judges and decryptors on the transfer's: both delay transfers. ``ImageLoader/load(_:)`` runs in a task.
public final class ImageDownloader: Sendable {
  /// The limits and sources of a downloader.
  public struct Configuration: Sendable {
    /// How many transfers run, and how fast they start; ``ImageDownloader/setLimits(_:)`` changes them later.
    public var limits: DownloadLimits
    /// The order of downloads of one class by their submission; nil, the default: first in, first out, or that of a batch.
    public var order: DownloadOrder?
    /// The clock.
    public var time: TimeSource
    /// Draws the wait before a retry from zero to the given limit, by default with uniform distribution. Called on the transfer thread.
    public var jitter: @Sendable (Duration) -> Duration
    /// Sent with each request to a download's own origin unless its options replace or remove them; none by default.
    public var headers: [HeaderField]
    /// Loaders that replace libcurl for some URLs; the last that can load a URL does. None by default.
    public var loaders: [any ImageLoader]
    /// When requests to a host that keeps failing stop; nil: never.
    public var circuitBreaker: CircuitBreaker?

    /// Creates a configuration. The downloader's `init` throws if its values can't be used.
    public init(
      limits: DownloadLimits = DownloadLimits(),
      order: DownloadOrder? = nil,
      time: TimeSource = .system,
      jitter: @escaping @Sendable (Duration) -> Duration = {
        .nanoseconds(Int64.random(in: 0...Int64(clamping: $0.wholeNanoseconds)))
      },
      headers: [HeaderField] = [],
      loaders: [any ImageLoader] = [],
      circuitBreaker: CircuitBreaker? = CircuitBreaker()
    ) {
      self.limits = limits
      self.order = order
      self.time = time
      self.jitter = jitter
      self.headers = headers
      self.loaders = loaders
      self.circuitBreaker = circuitBreaker
    }

    /// What is wrong with it, in one sentence without values of headers; nil if it can be used.
    package var invalidReason: String? {
      if let reason = limits.invalidReason ?? circuitBreaker?.invalidReason { return reason }
      let invalid = headers.first { !DownloadOptions.isValidHeader(name: $0.name, value: $0.value) }
      return invalid.map { "headers: \($0.name.quotable) isn't a valid header" }
    }
  }

  /// The default headers of each request to a download's own origin.
  public let headers: [HeaderField]
  /// Loaders that replace libcurl: the last that can load a URL does.
  public let loaders: [any ImageLoader]
  let inbox: Inbox
  private let monitor: Monitor
  private let thread: WorkerThread
  private let loops: CurlThreads
  private let clients: Mutex<Clients>

  private struct Clients {
    var limits: DownloadLimits
    var count = 0
    /// The client for ``download(_:priority:options:validators:progressInterval:)``; created with the first task.
    var tasks: (client: DownloadClient, receiver: TaskReceiver)?
    /// The options of the last task: most tasks have the same.
    var taskOptions: PreparedOptions?

    mutating func client(_ receiver: any DownloadReceiver, _ inbox: Inbox) -> DownloadClient {
      count += 1
      inbox.post(.open(client: count, receiver))
      return DownloadClient(number: count, inbox: inbox, receiver: receiver)
    }
  }

  /// Starts the transfer thread, which runs until `shutDown()`.
  ///
  /// Throws if a value of the configuration can't be used, such as a header with a line break or a limit below 1, if libcurl is too old or
  /// lacks a feature, or the system provides no descriptor or thread.
  public init(_ configuration: Configuration = Configuration()) throws(DownloaderError) {
    if let reason = configuration.invalidReason { throw DownloaderError(message: reason) }
    let inbox = try Inbox()
    let monitor = Monitor(time: configuration.time)
    let scheduler = try DownloadScheduler(configuration, inbox: inbox, monitor: monitor)
    loops = scheduler.pool.threads
    self.inbox = inbox
    self.monitor = monitor
    clients = Mutex(Clients(limits: configuration.limits))
    // Threads and rates are set as by a later change.
    inbox.post(.setLimits(configuration.limits))
    headers = configuration.headers
    loaders = configuration.loaders
    do throws(ThreadError) {
      thread = try WorkerThread(name: "transfer") { scheduler.run() }
    } catch {
      throw DownloaderError(message: "\(error)")
    }
  }

  // It may be released on the transfer thread, which then ends by itself.
  deinit { end() }

  /// Creates a client whose events go to `receiver`, which is retained until the client is closed or released.
  package func client(_ receiver: any DownloadReceiver) -> DownloadClient {
    clients.withLock { $0.client(receiver, inbox) }
  }

  /// The current limits.
  public var limits: DownloadLimits { clients.withLock { $0.limits } }

  /// Changes the limits, even while transfers run: those beyond a lower limit finish first. ``DownloaderStatistics/peakRunning`` restarts
  /// from here. If the system has no more threads, fewer make transfers. Throws if they can't be used, and then changes nothing.
  ///
  /// Changes of a rate cause no burst: the elapsed fraction of the wait for the next start becomes the same of the new wait.
  public func setLimits(_ limits: DownloadLimits) throws(DownloaderError) {
    if let reason = limits.invalidReason { throw DownloaderError(message: reason) }
    clients.withLock { clients in
      clients.limits = limits
      // Under the lock, so that changes arrive in their order.
      inbox.post(.setLimits(limits))
    }
  }

  /// Cancels all waiting downloads of all clients, retries included, and with `includingRunning` the running ones too.
  public func cancelAll(includingRunning: Bool) { inbox.post(.cancelAll(includingRunning: includingRunning)) }

  /// While true nothing new starts; running transfers continue, and downloads can be added.
  public var isSuspended: Bool {
    get { inbox.isSuspended }
    set { inbox.setSuspended(newValue) }
  }

  /// Removes all cookies set by responses to downloads with ``DownloadOptions/handlesCookies``.
  public func clearCookies() { inbox.post(.clearCookies) }

  /// Forgets failures of hosts, so that hosts that kept failing get requests again, on new connections; pauses that hosts requested
  /// stay. For use when the network has changed or another job begins.
  public func forgetFailures() { inbox.post(.forgetFailures) }

  /// Cancels everything, and blocks until the transfer thread has ended and all receivers have every event; a second call does nothing.
  ///
  /// Traps on the threads that make transfers (in a receiver, hook or observer), where it would deadlock.
  public func shutDown() {
    trap(unless: !runsOnCurrentThread, "a downloader can't be shut down in one of its callbacks: it would deadlock")
    end()
  }

  /// Cancels everything, and waits until all receivers have every event.
  public func shutDown() async {
    _ = inbox.close()
    await inbox.ended.value()
  }

  package var isShutDown: Bool { inbox.isClosed }

  private func end() {
    // A loop's thread ends before the transfer thread, which ends by itself.
    if inbox.close(), !loops.runOnCurrentThread { thread.join() }
  }

  /// Whether the calling thread makes transfers, and so must not wait for its own work.
  package var runsOnCurrentThread: Bool { thread.isCurrent || loops.runOnCurrentThread }

  /// Its load as of now.
  public var statistics: DownloaderStatistics { monitor.statistics }

  /// How long each part of the pipeline was the bottleneck; managers and callers report their activity to it.
  package var pipeline: PipelineMeter { monitor.pipeline }

  /// Running and waiting transfers, retries included, as of the transfer thread's last iteration; a shared one counts once.
  public var currentDownloadCount: Int {
    let statistics = monitor.statistics
    return statistics.running + statistics.waiting
  }

  /// The client of all ``DownloadTask``s.
  func taskClient() -> (client: DownloadClient, receiver: TaskReceiver) {
    clients.withLock { clients in
      if let tasks = clients.tasks { return tasks }
      let receiver = TaskReceiver(inbox)
      let tasks = (client: clients.client(receiver, inbox), receiver: receiver)
      clients.tasks = tasks
      return tasks
    }
  }

  func prepared(_ options: DownloadOptions) -> PreparedOptions {
    if let last = clients.withLock({ $0.taskOptions }), last.options == options { return last }
    let prepared = PreparedOptions(options)
    clients.withLock { $0.taskOptions = prepared }
    return prepared
  }
}

/// Why a downloader couldn't be created, or its limits changed.
public struct DownloaderError: Error, Sendable, Hashable {
  /// One sentence: what failed, why, what to do.
  public var message: String
}

/// How many transfers a downloader runs, and how fast it starts them.
public struct DownloadLimits: Sendable, Hashable {
  /// Concurrent transfers; at least 1.
  public var concurrency: Int
  /// Concurrent transfers per host (name and port); at least 1.
  public var perHost: Int
  /// Requests per second over all hosts, evenly and without bursts; nil: unlimited.
  public var rate: Double?
  /// Requests per second and host; nil: unlimited.
  public var perHostRate: Double?
  /// Whether each host's number of transfers adapts, up to ``perHost``; true by default. It falls to four fifths of what the host answers
  /// without delay, so that its other users hardly notice, and to half if the host asks for a pause or three requests in a row fail.
  public var isAdaptive: Bool
  /// How many threads make transfers, at least 1; nil, the default: half as many as the machine has cores, but one for each eight
  /// transfers at most and one for each 1,024 at least. Connections stay with their thread; transfers to one host spread over the
  /// threads, except with HTTP/2.
  public var threads: Int?
  /// Limits of some hosts, which replace those of all. For each host, only those of the most specific pattern count.
  public var hosts: [HostPattern: OfHost]

  /// Limits of one host; nil: ``DownloadLimits/perHost`` and ``DownloadLimits/perHostRate``.
  public struct OfHost: Sendable, Hashable {
    /// Concurrent transfers; at least 1.
    public var perHost: Int?
    /// Requests per second; infinity: unlimited.
    public var perHostRate: Double?

    /// Creates limits that replace nothing, unless some are given.
    public init(perHost: Int? = nil, perHostRate: Double? = nil) { (self.perHost, self.perHostRate) = (perHost, perHostRate) }
  }

  /// The maximum of ``threads``.
  public static let maximumThreads = 16

  /// Creates limits: 6 transfers in all and 8 per host, without rates, unless others are given. Limits below 1 and rates that aren't above
  /// zero throw when they are used.
  public init(
    concurrency: Int = 6,
    perHost: Int = 8,
    rate: Double? = nil,
    perHostRate: Double? = nil,
    isAdaptive: Bool = true,
    threads: Int? = nil,
    hosts: [HostPattern: OfHost] = [:]
  ) {
    self.concurrency = concurrency
    self.perHost = perHost
    self.rate = rate
    self.perHostRate = perHostRate
    self.isAdaptive = isAdaptive
    self.threads = threads
    self.hosts = hosts
  }

  /// What is wrong with them, in one sentence; nil if they can be used.
  var invalidReason: String? {
    let counts =
      [("concurrency", concurrency), ("perHost", perHost)] + hosts.values.compactMap { $0.perHost.map { ("perHost", $0) } }
    for (name, limit) in counts where limit < 1 {
      return "limits: \(name) must be at least 1, not \(limit)"
    }
    let rates = [("rate", rate), ("perHostRate", perHostRate)] + hosts.values.map { ("perHostRate", $0.perHostRate) }
    for case (let name, let rate?) in rates where !(rate > 0) {
      return "limits: \(name) must be above zero, not \(rate)"
    }
    guard let threads, !(1...Self.maximumThreads ~= threads) else { return nil }
    return "limits: threads must be 1 to \(Self.maximumThreads), not \(threads)"
  }

  /// The number of threads on a machine with `cores`.
  func threads(cores: Int) -> Int {
    threads ?? max(1, min(max(min(cores / 2, concurrency / 8), concurrency / Self.transfersPerThread), Self.maximumThreads))
  }

  /// libcurl searches the connections of a thread one after another, which takes longer than a request from here on.
  private static let transfersPerThread = 1024
}

/// An ``ImageDownloader``'s load.
public struct DownloaderStatistics: Sendable {
  /// Transfers running now.
  public internal(set) var running = 0
  /// The most transfers that ran at once since the limits were last set.
  public internal(set) var peakRunning = 0
  /// Downloads waiting now, retries included.
  public internal(set) var waiting = 0
  /// Connections opened so far.
  public internal(set) var openedConnections = 0
  /// Some of the paused hosts, at most ``maximumPausedHosts``: those whose pauses end last.
  package internal(set) var pausedHosts: [PausedHost] = []

  /// The maximum number of paused hosts that are reported.
  static let maximumPausedHosts = 4

  /// A host that gets no requests for a while.
  package struct PausedHost: Sendable, Hashable {
    /// The name, with the port if it isn't the scheme's default.
    package internal(set) var host: String
    package internal(set) var remaining = Duration.zero
    /// The status that asked for the pause, 429 or 503; nil if the host was paused after failures (``CircuitBreaker``).
    package internal(set) var status: Int?
    /// Its last failure, if it was paused after failures.
    package internal(set) var failure: ImageFailure?
    /// Whether its downloads fail meanwhile instead of waiting.
    package internal(set) var isDown = false
  }

}

/// The statistics as last written by the transfer thread; any thread may read them.
final class Monitor: Sendable {
  private struct State {
    var statistics = DownloaderStatistics()
    /// Hosts that are or were paused; at most ``DownloaderStatistics/maximumPausedHosts``.
    var paused: [(host: DownloaderStatistics.PausedHost, until: MonotonicInstant)] = []
  }

  /// The bottleneck of the whole pipeline, transfers included.
  let pipeline: PipelineMeter
  private let state = Mutex(State())
  private let time: TimeSource

  init(time: TimeSource) {
    self.time = time
    pipeline = PipelineMeter(time: time)
  }

  var statistics: DownloaderStatistics {
    let now = time.monotonic()
    return state.withLock { state in
      var statistics = state.statistics
      statistics.pausedHosts = state.paused.lazy.filter { $0.until > now }.map { host, until in
        var host = host
        host.remaining = until.since(now)
        return host
      }
      return statistics
    }
  }

  func forgetPeak() { state.withLock { $0.statistics.peakRunning = $0.statistics.running } }

  /// Records that a host is paused until `time`.
  func note(_ host: DownloaderStatistics.PausedHost, until time: MonotonicInstant) {
    state.withLock { state in
      let known = state.paused.firstIndex { $0.host.host == host.host }
      if known == nil, state.paused.count < DownloaderStatistics.maximumPausedHosts { return state.paused.append((host, time)) }
      let index = known ?? state.paused.indices.min { state.paused[$0].until < state.paused[$1].until }
      if let index, state.paused[index].until < time { state.paused[index] = (host, time) }
    }
  }

  /// Removes the pause of a host that was paused after failures.
  func forget(_ host: String) {
    state.withLock { state in state.paused.removeAll { $0.host.host == host && $0.host.status == nil } }
  }

  func forgetFailures() { state.withLock { state in state.paused.removeAll { $0.host.status == nil } } }

  /// Ends an iteration of the scheduler: from now on, `limit` keeps more transfers from starting.
  func update(limit: StartLimit, running: Int, loopRunning: Int, waiting: Int, openedConnections: Int) {
    state.withLock { state in
      state.statistics.running = running
      state.statistics.peakRunning = max(state.statistics.peakRunning, running)
      state.statistics.waiting = waiting
      state.statistics.openedConnections = openedConnections
    }
    pipeline.transfersSleep(limit: limit, running: running, ofThem: loopRunning)
  }
}
