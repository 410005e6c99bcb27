#if Queue
public import ImagePrimitives

/// A connection to a Redis server, for one thread: one command at a time, or several before their replies.
///
/// Replies are untrusted: one of more than 64 MiB, with more than a million elements or more than 7 levels of nesting breaks the
/// connection. After an error of the connection it can't be used any more: release it and create another.
public final class RedisConnection {
  /// The timeouts of a connection.
  public struct Timeouts: Sendable, Hashable {
    /// For connecting; 5 s by default.
    public var connect: Duration
    /// For the next byte of a reply or of a command; 10 s by default.
    public var answer: Duration

    /// Creates timeouts; the defaults suit most callers.
    public init(connect: Duration = .seconds(5), answer: Duration = .seconds(10)) {
      self.connect = connect
      self.answer = answer
    }
  }

  /// The oldest supported version of Redis (it introduced XAUTOCLAIM).
  public static let requiredVersion = "6.2"

  static let maximumReplyBytes = 64 << 20

  /// The server's address.
  public let address: RedisAddress
  /// The number of appended commands whose replies haven't been read.
  public private(set) var pendingReplies = 0

  /// The server's hashes of the scripts that this connection has loaded, by name.
  var scriptHashes: [String: String] = [:]

  private let timeouts: Timeouts
  private let socket: RedisSocket
  private var reader = ReplyReader()
  private var outgoing: [UInt8] = []
  private var incoming = [UInt8](repeating: 0, count: 64 << 10)

  /// Connects, authenticates, selects the database, and checks the server's version.
  ///
  /// - Throws: ``RedisError``: `unavailable` if the server doesn't respond, `refused` if it rejects the connection.
  public init(_ address: RedisAddress, timeouts: Timeouts = Timeouts()) throws(RedisError) {
    self.address = address
    self.timeouts = timeouts
    do throws(RedisSocket.ConnectionError) {
      socket = try RedisSocket(address.endpoint, timeout: timeouts.connect)
    } catch {
      throw RedisError(.unavailable, error.what, at: address, advice: "check the address and that the server is running")
    }
    try greet()
  }

  /// Sends a command and waits for its reply; an error reply is thrown.
  ///
  /// The replies of appended commands must be read first.
  public func command(_ arguments: [RedisArgument]) throws(RedisError) -> RedisReply {
    trap(unless: pendingReplies == 0, "the replies of appended commands must be read first")
    append(arguments)
    let reply = try reply()
    if case .error(let text) = reply { throw RedisError(answer: text, from: address) }
    return reply
  }

  /// Queues a command; it is sent by ``flush()``, or when a reply is read.
  public func append(_ arguments: [RedisArgument]) {
    RedisArgument.append(arguments, to: &outgoing)
    pendingReplies += 1
  }

  /// Sends the queued commands.
  public func flush() throws(RedisError) {
    guard !outgoing.isEmpty else { return }
    do throws(RedisSocket.ConnectionError) {
      try outgoing.withRawBytes { bytes throws(RedisSocket.ConnectionError) in try socket.send(bytes, timeout: timeouts.answer) }
    } catch {
      throw failed(error)
    }
    outgoing.removeAll(keepingCapacity: outgoing.count < 4 << 20)
  }

  /// Returns the reply to the oldest pending command; an error of the server is returned like other replies.
  public func reply() throws(RedisError) -> RedisReply {
    trap(unless: pendingReplies > 0, "there is no pending command to reply to")
    try flush()
    var received = 0
    while true {
      do throws(ReplyReader.ProtocolError) {
        if let reply = try reader.next() {
          pendingReplies -= 1
          return reply
        }
      } catch {
        throw noRedis(error.sentence)
      }
      guard received < Self.maximumReplyBytes else { throw noRedis("the reply is longer than \(Self.maximumReplyBytes) bytes") }
      received += try receive()
    }
  }

  private func receive() throws(RedisError) -> Int {
    let count: Int
    do throws(RedisSocket.ConnectionError) {
      count = try incoming.withUnsafeMutableBufferPointer { buffer throws(RedisSocket.ConnectionError) in
        try socket.receive(into: UnsafeMutableRawBufferPointer(buffer), timeout: timeouts.answer)
      }
    } catch {
      throw failed(error)
    }
    do throws(ReplyReader.ProtocolError) {
      try incoming.withRawBytes { bytes throws(ReplyReader.ProtocolError) in
        try reader.feed(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
      }
    } catch {
      throw noRedis(error.sentence)
    }
    return count
  }

  private func failed(_ failure: RedisSocket.ConnectionError) -> RedisError {
    RedisError(.unavailable, failure.what, at: address, advice: "check that the server is running")
  }

  private func noRedis(_ sentence: String) -> RedisError {
    RedisError(.refused, "doesn't speak the Redis protocol (\(sentence))", at: address, advice: "check the address")
  }
}

extension RedisConnection {
  private static let rejectionCodes: [String?] = ["NOAUTH", "DENIED", String(ServerError.tooManyClients)]

  /// Authenticates, selects the database, names the connection, and checks the server's version.
  func greet() throws(RedisError) {
    if let password = address.password {
      append(["AUTH"] + (address.user.map { [RedisArgument($0)] } ?? []) + [RedisArgument(password)])
    }
    if address.database != 0 { append(["SELECT", RedisArgument(address.database)]) }
    // Missing permissions for these two are ignored: the name only helps readers of CLIENT LIST.
    append(["CLIENT", "SETNAME", "prewarm"])
    append(["INFO", "server"])
    if address.password != nil, case .error(let text) = try reply() { throw RedisError(replyToAUTH: text, from: address) }
    if address.database != 0, case .error(let text) = try reply() { throw RedisError(answer: text, from: address) }
    if case .error(let text) = try reply() {
      let error = RedisError(answer: text, from: address)
      // A server that rejects a client says so in its first reply, and closes the connection.
      if Self.rejectionCodes.contains(error.code) { throw error }
    }
    guard let version = Self.version(in: try reply().text ?? "") else { return }
    guard version.isAtLeast(Self.requiredVersion) else {
      throw RedisError(
        .refused,
        "has version \(version.prefix(20))",
        at: address,
        advice: "upgrade it to \(Self.requiredVersion) or later"
      )
    }
  }

  /// The version in the reply to `INFO server`.
  static func version(in information: String) -> Substring? {
    for line in information.split(whereSeparator: \.isNewline) where line.hasPrefix("redis_version:") {
      return line.dropFirst("redis_version:".count).prefix { $0.isNumber || $0 == "." }
    }
    return nil
  }
}

extension Substring {
  /// Whether a version with dotted numbers is `other` or later.
  fileprivate func isAtLeast(_ other: String) -> Bool {
    let own = split(separator: ".").map { Int($0) ?? 0 }
    let others = other.split(separator: ".").map { Int($0) ?? 0 }
    return !own.lexicographicallyPrecedes(others)
  }
}

/// The wait before the next attempt to reach a server: uniformly distributed over the upper half of the backoff's limit.
///
/// The lower half is excluded so that many clients that lost a server together don't overload it.
public struct ReconnectBackoff: Sendable {
  /// From 50 ms up to 5 s.
  public static let limits = Backoff(initial: .milliseconds(50), maximum: .seconds(5))

  /// Attempts since the last reply of the server.
  private var tries = 0

  /// Creates a backoff before its first wait.
  public init() {}

  /// Returns the next wait.
  public mutating func next() -> Duration {
    var generator = SystemRandomNumberGenerator()
    return next(using: &generator)
  }

  /// Returns the next wait, drawn from `generator`.
  public mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
    defer { tries += 1 }
    return Self.limits.limit(beforeRetry: tries) / 2 * Double.random(in: 1...2, using: &generator)
  }

  /// Records a reply of the server: the next wait is the first again.
  public mutating func reset() { tries = 0 }
}
#endif
