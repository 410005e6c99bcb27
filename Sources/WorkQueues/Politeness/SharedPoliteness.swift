public import ImagePrimitives
public import RedisClient
import Synchronization
public import Threads

/// What workers of a queue share so that all together are as polite as one: rates, and pauses that hosts have asked for.
///
/// It has a thread and a connection of its own. Where Redis is away, or refuses something, it says so, tries again with backoff,
/// and meanwhile reserves nothing; the pauses that it is told of meanwhile it passes on later.
public final class SharedPoliteness: Sendable {
  /// How often it asks for what. All have defaults that only tests change.
  public struct Options: Sendable, Hashable {
    /// How often it looks for pauses that others were asked for, and how many workers there are; 100 ms. Both also come with
    /// each answer.
    public var restInterval = Duration.milliseconds(100)
    /// How often it says that this worker is there; 5 s.
    public var beatInterval = Duration.seconds(5)
    /// After so long without that a worker counts as gone; 30 s.
    public var goneAfter = Duration.seconds(30)
    /// After so long at least it asks again where Redis refused something; 5 s.
    public var refusedInterval = Duration.seconds(5)
    /// So long after it has reached Redis again it counts on the other workers to have done so; 7 s, which is the longest
    /// wait of a ``ReconnectBackoff`` and what a try takes.
    public var returnInterval = ReconnectBackoff.limits.maximum + .seconds(2)
    /// How long to wait for Redis before it counts as away; 2 s each.
    public var timeouts = RedisConnection.Timeouts(connect: .seconds(2), answer: .seconds(2))

    /// The defaults.
    public init() {}
  }

  enum Message: Sendable {
    case reserve([StartReservation])
    case rest(origin: String, over: MonotonicInstant, status: Int)
    case stop
  }

  private let mailbox = Mailbox<Message>()
  private let thread: WorkerThread

  /// Joins the workers of the queue at `place`; `receiver` is kept until ``stop()``.
  public init(
    _ place: QueuePlace,
    options: Options = Options(),
    receiver: any PolitenessReceiver
  ) throws(ThreadRefusal) {
    thread = try WorkerThread(name: "politeness") { [mailbox] in
      PolitenessLink(place, options: options, mailbox: mailbox, receiver: receiver).run()
    }
  }

  deinit { stop() }

  /// Asks for starts, to be answered by ``PolitenessReceiver/reserved(_:)``; from any thread.
  public func reserve(_ reservations: [StartReservation]) { mailbox.post(.reserve(reservations)) }

  /// Lets nobody ask anything of `origin` for `duration` from now on, since it has asked for that by `status`; from any thread.
  public func rest(_ origin: String, for duration: Duration, status: Int) {
    mailbox.post(.rest(origin: origin, over: TimeSource.system.monotonic().advanced(by: duration), status: status))
  }

  /// Leaves the workers, and waits until the thread has ended, but not beyond `deadline`: where Redis does not answer until then,
  /// the thread ends by itself when its timeouts are over, and the receiver is told of nothing that matters any more.
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
