public import ImagePrimitives
public import RedisClient

/// Fills a queue: gathers entries into messages of one host each, and numbers them so that a writer that was stopped anywhere can go on.
///
/// The same entries in the same order make the same messages with the same numbers. What is in the queue already is not sent again, and the hash of
/// all that was sent tells whether the entries are still the same. For one thread; where Redis cannot be reached, calls wait.
public final class QueueWriter {
  /// How much is held and sent at once.
  public struct Options: Sendable, Hashable {
    /// How many entries the queue may hold that no worker has finished: at more, ``QueueWriter/append(_:host:priority:)`` waits. 1,000,000 by default.
    public var maximumQueuedEntries: UInt64 = 1_000_000
    /// How many messages may be on their way; 128 by default.
    public var maximumMessagesInFlight = 128
    /// How many entries wait for others of their host; 16,384 by default.
    public var maximumGatheredEntries = 16_384
    /// How long to wait for Redis.
    public var timeouts = RedisConnection.Timeouts()

    /// The defaults.
    public init() {}
  }

  /// What ``QueueWriter/begin(_:)`` found.
  public enum Beginning: Sendable, Hashable {
    /// Nothing: the queue begins.
    case new
    /// The same job, written so far.
    case resumed(QueueSize)
    /// The same job, written to its end.
    case sealed(QueueSize)
  }

  /// A writer for the queue at `place`.
  ///
  /// - Parameter waiting: Called about ten times a second while a call waits, with a sentence on what for; where it returns false, the call throws
  ///   ``QueueError/interrupted``.
  public init(_ place: QueuePlace, options: Options = Options(), waiting: @escaping (_ why: String) -> Bool) {
    fatalError()
  }

  /// Begins the queue, or goes on with it; to be called once, before all else.
  ///
  /// - Throws: ``QueueError``: `holdsAnotherJob` where its job's digest is another.
  public func begin(_ job: QueuedJob) throws(QueueError) -> Beginning { fatalError() }

  /// Adds an entry; `host` is that of its URL, empty where it has none.
  public func append(_ entry: NewQueuedEntry, host: UnsafeRawBufferPointer, priority: Priority) throws(QueueError) { fatalError() }

  /// Sends what is gathered, and writes how much the queue holds: nothing can be added any more.
  public func seal() throws(QueueError) -> QueueSize { fatalError() }
}
