public import ImagePrimitives
import Synchronization
import Threads

/// Fetches images: many at once, bounded overall and per host, in order, with retries.
///
/// ```
///  DownloadClient ─▶ inbox ─▶ transfers   ─▶ DownloadQueue ─▶ Transfer (libcurl) ─▶ outcome ─▶ events ─▶ each waiter's
///                             one for an        ▲   order, limits   or ImageLoader     │                    receiver
///                             identity          └────────── retry, redirect ◀──────────┘
/// ```
/// One thread, the transfer thread, does all of it; the methods here and of the clients only put messages into its inbox and
/// return, except for ``shutDown()`` and ``DownloadClient/close()``, which wait. Receivers, hooks, observers, credentials and
/// ``ImageLoader/canLoad(_:)`` are called on that thread, and delay every transfer until they return; ``ImageLoader/load(_:)`` runs in a
/// task of its own.
public final class ImageDownloader: Sendable {
  /// The limits and sources of a downloader.
  public struct Configuration: Sendable {
    /// Transfers at once; 6 by default, at least 1.
    public var maxConcurrentDownloads: Int
    /// Transfers at once to one name and port; 8 by default, at least 1. It counts only where it is below the former.
    public var maxConcurrentPerHost: Int
    /// The order of downloads of one class: as they were submitted, or nil for each one's own ``Download/sequence``.
    public var order: DownloadOrder?
    /// The clock.
    public var time: TimeSource
    /// Draws the wait before a retry, from zero to the limit given; evenly by default. Called on the transfer thread.
    public var jitter: @Sendable (Duration) -> Duration
    /// Sent with each request to a download's own origin, unless its options replace or remove them; none by default. One that
    /// ``DownloadOptions/isValidHeader(name:value:)`` refuses is a programmer's error and traps.
    public var headers: [HeaderField]
    /// Who stands in for libcurl for URLs of its own; the last that can load a URL does. None by default.
    public var loaders: [any ImageLoader]
    /// When a host that does nothing but fail is left alone.
    public var circuitBreaker: CircuitBreaker

    /// A configuration; a limit below 1 is a programmer's error and traps, here or where it is used.
    public init(
      maxConcurrentDownloads: Int = 6,
      maxConcurrentPerHost: Int = 8,
      order: DownloadOrder? = nil,
      time: TimeSource = .system,
      jitter: @escaping @Sendable (Duration) -> Duration = {
        .nanoseconds(Int64.random(in: 0...Int64(clamping: $0.wholeNanoseconds)))
      },
      headers: [HeaderField] = [],
      loaders: [any ImageLoader] = [],
      circuitBreaker: CircuitBreaker = CircuitBreaker()
    ) {
      ImageDownloader.requireLimits(maxConcurrentDownloads, perHost: maxConcurrentPerHost)
      self.maxConcurrentDownloads = maxConcurrentDownloads
      self.maxConcurrentPerHost = maxConcurrentPerHost
      self.order = order
      self.time = time
      self.jitter = jitter
      self.headers = headers
      self.loaders = loaders
      self.circuitBreaker = circuitBreaker
    }
  }

  /// The headers that each request to a download's own origin has by default.
  public let headers: [HeaderField]
  /// Who stands in for libcurl: of those that can load a URL, the last.
  public let loaders: [any ImageLoader]
  let inbox: Inbox
  private let monitor: Monitor
  private let thread: WorkerThread
  private let clients = Mutex(Clients())

  private struct Clients {
    var count = 0
    /// Who gives the tasks of ``download(_:priority:options:validators:progressInterval:)``; made with the first.
    var tasks: (client: DownloadClient, receiver: TaskReceiver)?
    /// The options of the last task: most have the same.
    var taskOptions: PreparedOptions?

    mutating func client(_ receiver: any DownloadReceiver, _ inbox: Inbox) -> DownloadClient {
      count += 1
      inbox.post(.open(client: count, receiver))
      return DownloadClient(number: count, inbox: inbox)
    }
  }

  /// Starts the transfer thread, which runs until ``shutDown()``.
  ///
  /// Throws where libcurl is too old, was built without what this needs, or the system gives no descriptor or thread.
  public init(_ configuration: Configuration = Configuration()) throws(DownloaderError) {
    Self.requireLimits(configuration.maxConcurrentDownloads, perHost: configuration.maxConcurrentPerHost)
    let breaker = configuration.circuitBreaker
    trap(
      unless: breaker.failures > 0 && breaker.rounds > 0,
      "a circuit breaker needs at least 1 failure and 1 round, not \(breaker.failures) and \(breaker.rounds)"
    )
    for field in configuration.headers {
      trap(unless: DownloadOptions.isValidHeader(name: field.name, value: field.value), "\(field.name): not a valid header")
    }
    let inbox = try Inbox()
    let monitor = Monitor(time: configuration.time)
    let loop = try TransferLoop(configuration, inbox: inbox, monitor: monitor)
    self.inbox = inbox
    self.monitor = monitor
    headers = configuration.headers
    loaders = configuration.loaders
    do throws(ThreadError) {
      thread = try WorkerThread(name: "transfer") { loop.run() }
    } catch {
      throw DownloaderError(message: "\(error)")
    }
  }

  // It may be released on the transfer thread, which then ends by itself.
  deinit { end() }

  /// A client of its own, whose events go to `receiver`; it is kept until the client is closed or the downloader shut down.
  ///
  /// After ``shutDown()`` this is a programmer's error and traps.
  public func client(_ receiver: any DownloadReceiver) -> DownloadClient {
    clients.withLock { $0.client(receiver, inbox) }
  }

  /// Changes these two limits, at least 1 each, also while transfers run: those beyond a lower limit finish, and nothing starts until
  /// they have. A limit below 1 is a programmer's error and traps. ``DownloaderStatistics/peakRunning`` counts anew from here.
  public func setLimits(concurrency: Int, perHost: Int) {
    Self.requireLimits(concurrency, perHost: perHost)
    inbox.post(.setConcurrency(concurrency, perHost: perHost))
  }

  /// Changes all limits, as ``setLimits(concurrency:perHost:)`` does those two; a rate that is not above zero traps too.
  ///
  /// A rate may change as often as one likes without a burst: what has passed of the wait for the next start counts as the same part
  /// of the new one.
  public func setLimits(_ limits: DownloadLimits) {
    Self.requireLimits(limits.concurrency, perHost: limits.perHost)
    for rate in [limits.rate, limits.perHostRate] {
      if let rate { trap(unless: rate > 0, "a rate has to be above zero, not \(rate)") }
    }
    inbox.post(.setLimits(limits))
  }

  /// Starts nothing at `origin` for `duration` from now on, as if it had asked for that by `status`: for pauses that it has asked
  /// others for. What is no origin, written as in a ``HostPauseRequest``, is ignored.
  public func pause(_ origin: String, for duration: Duration, status: Int) {
    guard let origin = URLOrigin(serialized: origin) else { return }
    inbox.post(.pause(origin, for: duration, status: status))
  }

  /// Calls `observer` whenever a host asks this downloader for a pause, and not for those by ``pause(_:for:status:)``; nil: nobody.
  ///
  /// It is called on the transfer thread, never under a lock, and holds up all transfers while it lasts. It is kept until another is
  /// set, or the downloader is shut down.
  public func observePauses(_ observer: (@Sendable (HostPauseRequest) -> Void)?) { inbox.post(.setPauseObserver(observer)) }

  /// Cancels all that waits, of all clients, and all that runs where `includingRunning`; retries that wait are waiting.
  public func cancelAll(includingRunning: Bool) { inbox.post(.cancelAll(client: nil, includingRunning: includingRunning)) }

  /// While true nothing new starts; what runs goes on, and downloads can be added.
  public var isSuspended: Bool {
    get { inbox.isSuspended }
    set { inbox.setSuspended(newValue) }
  }

  /// Forgets all cookies that answers to downloads with ``DownloadOptions/handlesCookies`` have set.
  public func clearCookies() { inbox.post(.clearCookies) }

  /// Forgets that hosts failed, so that those are asked again that the ``CircuitBreaker`` has left alone; pauses that hosts have asked for
  /// stay. For where the way to them has changed, or another job begins.
  public func forgetFailures() { inbox.post(.forgetFailures) }

  /// Cancels everything and waits until the transfer thread has ended and all receivers have every event; a second call does nothing.
  ///
  /// On the transfer thread, so by a receiver, a hook or an observer, it would wait for its caller: a programmer error that traps.
  public func shutDown() {
    trap(unless: !thread.isCurrent, "a callback of a downloader cannot shut it down: it would wait for its own end")
    end()
  }

  private func end() {
    if inbox.close() { thread.join() }
  }

  /// Whether the calling thread is the transfer thread, which must not wait for its own work.
  package var runsOnCurrentThread: Bool { thread.isCurrent }

  /// How busy it is, up to this moment.
  public var statistics: DownloaderStatistics { monitor.statistics }

  /// For how long each part of the way of what it loads held up the others; managers and those who ask tell it what they do.
  package var pipeline: PipelineMeter { monitor.pipeline }

  /// Transfers that run or wait, retries included, as of the transfer thread's last turn; those that share one count once.
  public var currentDownloadCount: Int {
    let statistics = monitor.statistics
    return statistics.running + statistics.waiting
  }

  /// The client of all ``DownloadTask``s.
  func taskClient() -> (client: DownloadClient, receiver: TaskReceiver) {
    clients.withLock { clients in
      if let tasks = clients.tasks { return tasks }
      let receiver = TaskReceiver()
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

  static func requireLimits(_ concurrency: Int, perHost: Int) {
    trap(unless: concurrency > 0, "a downloader needs a concurrency of at least 1, not \(concurrency)")
    trap(unless: perHost > 0, "a downloader needs a limit per host of at least 1, not \(perHost)")
  }
}

/// A pause that a host has asked for, by 429 or 503.
public struct HostPauseRequest: Sendable, Hashable {
  /// The server that was connected to, as RFC 6454, section 6.2, writes an origin, such as `https://example.com` or
  /// `http://127.0.0.1:8080`.
  public var origin: String
  /// From now on: its `Retry-After`, or else a backoff.
  public var duration: Duration
  /// The HTTP status by which it asked.
  public var status: Int

  public init(origin: String, duration: Duration, status: Int) {
    self.origin = origin
    self.duration = duration
    self.status = status
  }
}

/// Why a downloader could not be made.
public struct DownloaderError: Error, Sendable, Hashable {
  /// One sentence: what, where, what to do.
  public var message: String
}

/// How much a downloader does at once, and how fast it begins.
public struct DownloadLimits: Sendable, Hashable {
  /// Transfers at once; at least 1.
  public var concurrency: Int
  /// Transfers at once to one host (name and port); at least 1.
  public var perHost: Int
  /// Requests begun a second over all hosts, evenly and without bursts; nil: any number.
  public var rate: Double?
  /// The same at one host.
  public var perHostRate: Double?
  /// Whether each host's number of transfers is found by itself, up to ``perHost``: one more for as long as that goes well, half of them
  /// where it fails, is told to wait, or gets slower.
  public var isAdaptive: Bool

  /// Limits; those below 1, and rates that are not above zero, are a programmer's error and trap where they are used.
  public init(
    concurrency: Int = 6,
    perHost: Int = 8,
    rate: Double? = nil,
    perHostRate: Double? = nil,
    isAdaptive: Bool = false
  ) {
    self.concurrency = concurrency
    self.perHost = perHost
    self.rate = rate
    self.perHostRate = perHostRate
    self.isAdaptive = isAdaptive
  }
}
