public import ImagePrimitives
public import RedisClient
import Synchronization
public import Threads

/// What workers of a queue share so that together they keep to rates as one would: each gets a part of them while it has work, and
/// learns of the pauses that hosts have asked the others for.
///
/// It has a thread and a connection of its own. See ``WorkerMembership`` for what happens while Redis is away; pauses that it is
/// notified of meanwhile it passes on later.
public final class SharedRates: Sendable {
  /// All have defaults that only tests change.
  public struct Options: Sendable, Hashable {
    /// How often a worker renews its membership and looks for others' pauses; 100 ms.
    public var beatInterval = Duration.milliseconds(100)
    /// For how long Redis keeps the part of a worker that does not; 10 s, longer than a reconnecting worker takes.
    public var lease = Duration.seconds(10)
    /// How long to wait at least after Redis refused something; 5 s.
    public var refusedInterval = Duration.seconds(5)
    /// After Redis was away, all workers have reached it again after so long; 7 s, which is the longest wait of a
    /// ``ReconnectBackoff`` and what a try takes.
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

  /// Joins the workers of the queue at `place`, without work; `observer` is kept until ``stop()``.
  public init(
    _ place: QueuePlace,
    options: Options = Options(),
    observer: any SharedRatesObserver
  ) throws(ThreadRefusal) {
    thread = try WorkerThread(name: "rates") { [mailbox] in
      RateLink(place, options: options, mailbox: mailbox, observer: observer).run()
    }
  }

  deinit { stop() }

  /// Says whether this worker has work; one that has none for a second gives up its part. From any thread, and cheap.
  public func setHasWork(_ newValue: Bool) {
    guard hasWork.exchange(newValue, ordering: .relaxed) != newValue else { return }
    mailbox.post(.hasWork(newValue))
  }

  /// Tells the others that `origin` has asked for a pause of `duration`, from now on, by that status; from any thread.
  ///
  /// An origin is any text that all workers write alike, such as `https://example.com`.
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

/// Who is notified of what a ``SharedRates`` learns, on its thread, which is held up meanwhile.
public protocol SharedRatesObserver: AnyObject, Sendable {
  /// From now on this worker may use that part of each rate, from 0 to 1; it is 0 before the first call.
  func partChanged(_ part: Double)

  /// Another worker was told by `origin`, with that HTTP status, to ask nothing of it for `duration` from now on. A worker that
  /// comes later is notified of the pauses that still last.
  func hostPaused(_ origin: String, for duration: Duration, status: Int)

  /// Redis refuses what is needed, as where its user lacks a permission, a key holds something else, or it admits no more
  /// clients, until somebody changes that. It counts as away meanwhile, and is asked again now and then. `why` is a sentence;
  /// the same is reported once. There are `workers`, as far as that is known, this one included.
  func wasRefused(_ why: String, workers: Int)
}
