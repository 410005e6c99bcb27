public import RedisClient

/// Looks at a queue from outside: what it holds, how far it is, what came out. For one thread.
///
/// It connects when it is asked for something, and anew after an error. All throw ``RedisError``; where that is `unavailable`, a later call may succeed.
public final class QueueFollower {
  /// A follower of the queue at `place`.
  public init(_ place: QueuePlace, timeouts: RedisConnection.Timeouts = .init()) { fatalError() }

  /// The queue as it is filled now; nil where there is none.
  public func open() throws(QueueError) -> OpenQueue? { fatalError() }

  /// How far it is; nil where there is no queue.
  public func progress() throws(QueueError) -> QueueProgress? { fatalError() }

  /// At most `maximum` results behind `position`, oldest first; none where there are no more yet.
  public func results(after position: QueueResult.ID = .start, maximum: Int = 64) throws(QueueError) -> [QueueResult] { fatalError() }

  /// Removes the results up to `position`.
  public func trimResults(upTo position: QueueResult.ID) throws(QueueError) { fatalError() }

  /// Writes down that the reports on this filling are written, see ``QueueProgress/isReported``.
  public func markReported() throws(QueueError) { fatalError() }

  /// Removes the queue with all it holds; where there is none, nothing happens.
  public func delete() throws(QueueError) { fatalError() }
}

/// What a worker made of one message, or a part of that.
public struct QueueResult: Sendable, Hashable {
  /// Where it stands among the results.
  public struct ID: Sendable, Hashable {
    let text: String
    /// Before the first.
    public static let start = ID(text: "0-0")
  }

  /// Where it stands.
  public let id: ID
  /// What the worker wrote; nil for what no worker wrote.
  public let payload: [UInt8]?
}
