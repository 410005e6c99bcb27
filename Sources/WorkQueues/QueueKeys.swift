#if Queue
import ImagePrimitives
public import RedisClient

/// The name of a queue. All its keys contain it as their hash tag, so that a cluster keeps them together.
public struct QueueName: Sendable, Hashable, CustomStringConvertible {
  /// The default name of a queue.
  public static let standard = QueueName(unchecked: "default")

  private static let maximumLength = 64

  /// The name as written.
  public let description: String

  private init(unchecked text: String) { description = text }

  /// Creates a name of at most 64 ASCII letters, digits, `-`, `_` and `.`; nil for any other text.
  public init?(_ text: String) {
    let isPlain = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    guard isPlain, !text.isEmpty, text.utf8.count <= Self.maximumLength else { return nil }
    self.init(unchecked: text)
  }

  /// The key of that part of the queue.
  func key(_ part: String) -> RedisArgument { RedisArgument("{prewarm:\(description)}:\(part)") }
}

/// The location of a queue: a Redis server and the queue's name.
public struct QueueLocation: Sendable, Hashable, CustomStringConvertible {
  /// The server.
  public let address: RedisAddress
  /// The queue's name.
  public let name: QueueName

  /// Creates the location of that queue on that server.
  public init(_ address: RedisAddress, name: QueueName = .standard) {
    self.address = address
    self.name = name
  }

  /// Its form in messages; user and password are masked.
  public var description: String { "queue '\(name)' at \(address)" }
}

/// The keys of a queue with fixed names.
///
/// | key | contents |
/// |---|---|
/// | `job` | a hash: the job, how much of the queue is written, and when a worker last needed work |
/// | `high`, … | a stream per priority: messages of several entries |
/// | `high:retry`, … | a stream per priority: entries that are tried alone |
/// | `totals` | a hash: the number of entries by outcome |
/// | `results` | a stream: the results of workers |
/// | `blacklist` | a hash: URLs known to be bad |
/// | `workers` | a sorted set: workers by the time they were last seen |
///
/// The shared rates, ``RateKeys``, aren't part of the queue and outlast it; they expire.
struct QueueKeys: Sendable {
  /// The consumer group of every stream of messages.
  static let group: RedisArgument = "workers"

  let job: RedisArgument
  let totals: RedisArgument
  let results: RedisArgument
  let blacklist: RedisArgument
  let workers: RedisArgument
  /// By ``QueueStream/index``: from the highest to the lowest priority, each with the retry stream first.
  let streams: [RedisArgument]

  init(_ name: QueueName) {
    job = name.key("job")
    totals = name.key("totals")
    results = name.key("results")
    blacklist = name.key("blacklist")
    workers = name.key("workers")
    streams = QueueStream.all.map { name.key($0.priority.name + ($0.isRetry ? ":retry" : "")) }
  }

  /// All keys with fixed names, those of messages last.
  var all: [RedisArgument] { [job, totals, results, blacklist, workers] + streams }

  func stream(_ stream: QueueStream) -> RedisArgument { streams[Int(stream.index)] }
}

/// One of a queue's streams of messages.
struct QueueStream: Sendable, Hashable {
  let priority: LoadPriority
  /// Whether its entries are tried alone.
  let isRetry: Bool

  /// All streams, in reading order.
  static let all = LoadPriority.allCases.flatMap {
    [QueueStream(priority: $0, isRetry: true), QueueStream(priority: $0, isRetry: false)]
  }

  var index: UInt8 { priority.rawValue * 2 + (isRetry ? 0 : 1) }
}

/// The fields of a queue's totals, besides one per outcome named by its raw value.
enum TotalsField {
  static let entries: RedisArgument = "entries"
  static let undecodable: RedisArgument = "undecodable"
}
#endif
