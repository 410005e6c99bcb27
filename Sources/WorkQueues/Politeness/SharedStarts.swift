public import ImagePrimitives

/// Starts that a worker wants to reserve for itself.
public struct StartReservation: Sendable, Hashable {
  /// Whose rate it is: a text that all workers write alike, such as `https://example.com`; empty for the rate over all.
  public var origin: String
  /// So many starts, at least 1.
  public var count: Int
  /// Between two starts of all workers together; above zero.
  public var intervalNanoseconds: UInt64

  /// A reservation; a number that is not above zero is a programmer's error and traps.
  public init(origin: String, count: Int, intervalNanoseconds: UInt64) {
    trap(unless: count > 0 && intervalNanoseconds > 0, "a reservation is of at least 1 start, and at least 1 ns apart")
    self.origin = origin
    self.count = count
    self.intervalNanoseconds = intervalNanoseconds
  }
}

/// Starts that are one worker's own: at `first`, and so on an interval apart, `count` of them.
public struct ReservedStarts: Sendable, Hashable {
  /// As it was asked for.
  public var origin: String
  /// As it was asked for.
  public var count: Int
  /// On this machine's monotonic clock.
  public var first: MonotonicInstant
  /// As it was asked for, rounded up to whole microseconds.
  public var intervalNanoseconds: UInt64
}

/// Who gets what a ``SharedPoliteness`` learns. Called on its thread, which is held up meanwhile.
public protocol PolitenessReceiver: AnyObject, Sendable {
  /// What was asked for is reserved.
  func reserved(_ starts: [ReservedStarts])

  /// Another worker was told by `origin`, with that HTTP status, to ask nothing of it for `duration` from now on. A worker that
  /// comes later is told of the pauses that still last.
  func rests(_ origin: String, for duration: Duration, status: Int)

  /// Redis cannot be asked for the time being: what was asked for without an answer is lost, and so is what is asked for until
  /// ``becameAvailable(workers:)``, which is answered by this anew. So every question gets an answer, whoever listened before.
  ///
  /// There were `workers` of them when it was last heard of, this one included; 1 where that was never told, and after
  /// ``SharedPoliteness/stop()``, which leaves them. Where that is told anew, there are more.
  func becameUnavailable(workers: Int)

  /// Redis refuses what is needed, as where its user lacks a permission, a key holds something else, or it admits no more
  /// clients, until somebody changes that. It counts as unavailable meanwhile, and is asked again now and then. `why` is a
  /// sentence; the same is said once.
  func wasRefused(_ why: String, workers: Int)

  /// Redis can be asked again; called only after it could not.
  ///
  /// Others may not know it yet, and each of them begins its part of one in `workers` by itself. So this one is to keep to such a
  /// part too, besides what is reserved for it, until ``othersReturned()``. Where it is told anew, there are more.
  func becameAvailable(workers: Int)

  /// Since ``becameAvailable(workers:)`` so much time is over that the other workers know of it too.
  func othersReturned()
}
