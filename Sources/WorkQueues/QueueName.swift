public import RedisClient

/// The name of a queue, which all its keys hold as their hash tag, so that a cluster keeps them together.
public struct QueueName: Sendable, Hashable, CustomStringConvertible {
  /// The name of a queue that was given none.
  public static let standard = QueueName(unchecked: "default")

  private static let maximumLength = 64

  /// The name as written.
  public let description: String

  private init(unchecked text: String) { description = text }

  /// A name of ASCII letters, digits, `-`, `_` and `.`, at most 64 of them; nil for any other text.
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

/// Where a queue is: a Redis server and the queue's name there.
public struct QueuePlace: Sendable, Hashable, CustomStringConvertible {
  /// The server.
  public let address: RedisAddress
  /// The queue's name.
  public let name: QueueName

  /// That queue on that server.
  public init(_ address: RedisAddress, name: QueueName = .standard) {
    self.address = address
    self.name = name
  }

  /// What sentences call it; user and password are masked.
  public var description: String { "queue '\(name)' at \(address)" }
}
