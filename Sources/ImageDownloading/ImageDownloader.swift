public import ImagePrimitives
import Threads

/// Fetches images: many at once, bounded overall and per host, in order, with retries.
///
/// ```
/// submit ─▶ inbox ─▶ DownloadQueue ─▶ Transfer (libcurl) ─▶ verdict ─▶ events ─▶ receiver
///                        ▲   order, limits                     │
///                        └──────────── retry, redirect ◀───────┘
/// ```
/// One thread, the transfer thread, does all of it; the methods here only put messages into its inbox and return.
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
    /// Draws the wait before a retry, from zero to the limit given; evenly by default.
    public var jitter: @Sendable (Duration) -> Duration

    /// A configuration.
    public init(
      maxConcurrentDownloads: Int = 6,
      maxConcurrentPerHost: Int = 8,
      order: DownloadOrder? = nil,
      time: TimeSource = .system,
      jitter: @escaping @Sendable (Duration) -> Duration = {
        .nanoseconds(Int64.random(in: 0...Int64(clamping: $0.wholeNanoseconds)))
      }
    ) {
      self.maxConcurrentDownloads = maxConcurrentDownloads
      self.maxConcurrentPerHost = maxConcurrentPerHost
      self.order = order
      self.time = time
      self.jitter = jitter
    }
  }

  private let inbox: Inbox
  private let monitor: Monitor
  private let thread: WorkerThread

  /// Starts the transfer thread, which keeps `receiver` until ``shutDown()``.
  ///
  /// Throws where libcurl is too old, was built without what this needs, or the system gives no descriptor.
  public init(_ configuration: Configuration = Configuration(), receiver: any DownloadReceiver) throws(DownloaderError) {
    let inbox = try Inbox()
    let monitor = Monitor(time: configuration.time)
    let loop = try TransferLoop(configuration, inbox: inbox, monitor: monitor, receiver: receiver)
    self.inbox = inbox
    self.monitor = monitor
    thread = WorkerThread(name: "transfer") { loop.run() }
  }

  deinit { shutDown() }

  /// Adds downloads; a batch costs one lock and at most one wake of the thread.
  ///
  /// A URL that is not http or https fails as `invalid-url`. After ``shutDown()`` this is a programmer's error and traps.
  public func submit(_ downloads: [Download]) { inbox.post(.submit(downloads)) }

  /// Changes both limits, also while transfers run: those beyond a lower limit finish, and nothing starts until they have.
  /// ``DownloaderStatistics/peakRunning`` counts anew from here.
  public func setLimits(concurrency: Int, perHost: Int) { inbox.post(.setLimits(concurrency: concurrency, perHost: perHost)) }

  /// Cancels downloads that wait, and those that run unless told otherwise; each ends once as ``DownloadEvent/cancelled(id:_:)``.
  /// Unknown numbers are passed over.
  public func cancel(_ ids: [UInt64], includingRunning: Bool = true) {
    inbox.post(.cancel(ids, includingRunning: includingRunning))
  }

  /// Cancels all that waits, and all that runs where `includingRunning`; retries that wait are waiting.
  public func cancelAll(includingRunning: Bool) { inbox.post(.cancelAll(includingRunning: includingRunning)) }

  /// While true nothing new starts; what runs goes on, and downloads can be added.
  public var isSuspended: Bool {
    get { inbox.isSuspended }
    set { inbox.setSuspended(newValue) }
  }

  /// Says that ``DownloadReceiver/mayStart`` may have become true.
  public func capacityChanged() { inbox.post(.capacityChanged) }

  /// Cancels everything and waits until the thread has ended and the receiver has every event; a second call does nothing.
  public func shutDown() {
    if inbox.close() { thread.join() }
  }

  /// How busy it is, up to this moment.
  public var statistics: DownloaderStatistics { monitor.statistics }
}

/// Why a downloader could not be made.
public struct DownloaderError: Error, Sendable, Hashable {
  /// One sentence: what, where, what to do.
  public var message: String
}
