#if Queue
package import ImagePrimitives
public import RedisClient
import Synchronization
public import Threads

/// Makes the workers of a queue share rates: each gets a part of them while it has work, and is notified of pauses that
/// hosts requested from others.
///
/// Uses its own thread and connection. ``WorkerMembership`` describes what happens while Redis is away; pauses of that
/// time are shared later.
public final class SharedRates: Sendable {
  /// Settings; only tests change the defaults.
  public struct Options: Sendable, Hashable {
    /// How often a worker renews its membership and reads others' pauses. Default: 100 ms.
    public var beatInterval = Duration.milliseconds(100)
    /// How long Redis keeps the part of a silent worker. Default: 10 s, longer than a reconnect takes.
    public var lease = Duration.seconds(10)
    /// The minimum wait after Redis refused something. Default: 5 s.
    public var refusedInterval = Duration.seconds(5)
    /// The time after an outage of Redis until all workers have reconnected. Default: 7 s, the longest wait of a
    /// ``ReconnectBackoff`` plus an attempt.
    public var returnInterval = ReconnectBackoff.limits.maximum + .seconds(2)
    /// The timeouts after which Redis counts as away. Default: 2 s each.
    public var timeouts = RedisConnection.Timeouts(connect: .seconds(2), answer: .seconds(2))

    /// Creates the default settings.
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

  /// Records whether this worker has work; a worker without work gives up its part after a second. Cheap, and may be
  /// called on any thread.
  public func setHasWork(_ newValue: Bool) {
    guard hasWork.exchange(newValue, ordering: .relaxed) != newValue else { return }
    mailbox.post(.hasWork(newValue))
  }

  /// Shares that `origin`, such as `https://example.com`, requested a pause of `duration` from now on with that HTTP
  /// status. May be called on any thread.
  public func pause(_ origin: String, for duration: Duration, status: Int) {
    mailbox.post(.pause(origin: origin, over: TimeSource.system.monotonic().advanced(by: duration), status: status))
  }

  /// Leaves the workers, and waits until the thread has ended, but not beyond `deadline`: if Redis doesn't reply until
  /// then, the thread ends by itself after its timeouts.
  package func stop(until deadline: MonotonicInstant) {
    mailbox.post(.stop)
    _ = thread.join(until: deadline, letsGo: true)
  }

  /// Leaves the workers, and waits until the thread has ended; a second call does nothing.
  public func stop() {
    mailbox.post(.stop)
    thread.join()
  }
}

/// Receives the news of a ``SharedRates``, on its thread, which it must not block for long.
public protocol SharedRatesObserver: AnyObject, Sendable {
  /// This worker may use that part of each rate from now on: from 0 to 1, and 0 before the first call.
  func partChanged(_ part: Double)

  /// `origin` requested a pause of `duration` from now on from another worker, with that HTTP status. A worker that
  /// joins later is notified of the remaining pauses.
  func hostPaused(_ origin: String, for duration: Duration, status: Int)

  /// Redis refuses what sharing needs, until its configuration changes: its user lacks a permission, a key has the
  /// wrong type, or it admits no more clients. It counts as away meanwhile, and is tried again. `why` is a sentence,
  /// reported once; `workers` is the known number of workers, including this one.
  func wasRefused(_ why: String, workers: Int)
}
#endif
