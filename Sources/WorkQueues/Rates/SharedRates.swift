#if Queue
public import ImagePrimitives
public import RedisClient
import Synchronization
public import Threads

/// Keeps the workers of a queue to shared rates: each gets a part of them while it has work, and learns of the pauses that hosts
/// have asked the others for.
///
/// It has a thread and a connection of its own. ``WorkerMembership`` describes what happens while Redis is away; pauses of that
/// time are shared later.
public final class SharedRates: Sendable {
  /// All have defaults that only tests change.
  public struct Options: Sendable, Hashable {
    /// How often a worker renews its membership and looks for others' pauses; 100 ms.
    public var beatInterval = Duration.milliseconds(100)
    /// How long Redis keeps the part of a silent worker; 10 s, which is longer than a reconnecting worker takes.
    public var lease = Duration.seconds(10)
    /// How long to wait at least after Redis refused something; 5 s.
    public var refusedInterval = Duration.seconds(5)
    /// How long after an outage of Redis all workers have reached it again; 7 s: the longest wait of a ``ReconnectBackoff`` and a
    /// try.
    public var returnInterval = ReconnectBackoff.limits.maximum + .seconds(2)
    /// How long to wait for Redis before it counts as away; 2 s each.
    public var timeouts = RedisConnection.Timeouts(connect: .seconds(2), answer: .seconds(2))

    /// The defaults.
    public init() {}
  }

  enum Message: Sendable {
    case hasWork(Bool)
    case pause(origin: String, over: MonotonicInstant, status: Int)
    case stop
  }

  private let mailbox = Mailbox<Message>()
  private let thread: WorkerThread
  private let hasWork = Atomic(false)

  /// Joins the workers of the queue at `location`, without work; `observer` is kept until ``stop()``.
  public init(
    _ location: QueueLocation,
    options: Options = Options(),
    observer: any SharedRatesObserver
  ) throws(ThreadError) {
    thread = try WorkerThread(name: "rates") { [mailbox] in
      RateLink(location, options: options, mailbox: mailbox, observer: observer).run()
    }
  }

  deinit { stop() }

  /// Records whether this worker has work; one that has none for a second gives up its part. Cheap, and may be called on any
  /// thread.
  public func setHasWork(_ newValue: Bool) {
    guard hasWork.exchange(newValue, ordering: .relaxed) != newValue else { return }
    mailbox.post(.hasWork(newValue))
  }

  /// Shares that `origin`, such as `https://example.com`, has asked for a pause of `duration` from now on with that HTTP status.
  /// May be called on any thread.
  public func pause(_ origin: String, for duration: Duration, status: Int) {
    mailbox.post(.pause(origin: origin, over: TimeSource.system.monotonic().advanced(by: duration), status: status))
  }

  /// Leaves the workers, and waits until the thread has ended, but not beyond `deadline`: if Redis does not answer until then,
  /// the thread ends by itself after its timeouts.
  public func stop(until deadline: MonotonicInstant) {
    mailbox.post(.stop)
    _ = thread.join(until: deadline, letsGo: true)
  }

  /// Leaves the workers, and waits until the thread has ended; a second call does nothing.
  public func stop() {
    mailbox.post(.stop)
    thread.join()
  }
}

/// Receives what a ``SharedRates`` learns, on its thread, which it must not block for long.
public protocol SharedRatesObserver: AnyObject, Sendable {
  /// This worker may use that part of each rate from now on: from 0 to 1, and 0 before the first call.
  func partChanged(_ part: Double)

  /// `origin` has asked another worker, with that HTTP status, for a pause of `duration` from now on. A worker that joins later
  /// is notified of the pauses that still last.
  func hostPaused(_ origin: String, for duration: Duration, status: Int)

  /// Redis refuses what sharing needs, until somebody changes that: its user lacks a permission, a key holds something else, or
  /// it admits no more clients. It counts as away meanwhile and is tried again. `why` is a sentence, reported once; `workers` is
  /// the known number of workers, this one included.
  func wasRefused(_ why: String, workers: Int)
}
#endif
