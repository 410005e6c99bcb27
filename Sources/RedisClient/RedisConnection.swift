#if Queue
public import ImagePrimitives

/// A connection to a Redis server, for one thread: commands one at a time, or many before their replies.
///
/// Replies are foreign input: one of more than 64 MiB, of more than a million elements or nested deeper than 7 levels breaks the
/// connection. After an error of the connection itself nothing more can be done with it: let it go and make another.
public final class RedisConnection {
  /// How long to wait for the server.
  public struct Timeouts: Sendable, Hashable {
    /// Until it accepts the connection; 5 s by default.
    public var connect: Duration
    /// Until the next byte of a reply comes, or the next of a command leaves; 10 s by default.
    public var answer: Duration

    /// Timeouts, of which most callers change none.
    public init(connect: Duration = .seconds(5), answer: Duration = .seconds(10)) {
      self.connect = connect
      self.answer = answer
    }
  }

  /// The oldest version of Redis that knows all commands that are used (XAUTOCLAIM came with it).
  public static let requiredVersion = "6.2"

  static let maximumReplyBytes = 64 << 20

  /// Where it leads.
  public let address: RedisAddress
  /// How many commands were appended whose replies have not been read.
  public private(set) var pendingReplies = 0

  /// What the server knows scripts by, by their names, as far as this connection has asked.
  var scriptHashes: [String: String] = [:]

  private let timeouts: Timeouts
  private let socket: RedisSocket
  private var reader = ReplyReader()
  private var outgoing: [UInt8] = []
  private var incoming = [UInt8](repeating: 0, count: 64 << 10)

  /// Connects, signs in, selects the database, and looks whether the server is new enough.
  ///
  /// - Throws: ``RedisError``: `unavailable` where the server does not answer, `refused` where it does not let us in.
  public init(_ address: RedisAddress, timeouts: Timeouts = Timeouts()) throws(RedisError) {
    self.address = address
    self.timeouts = timeouts
    do throws(RedisSocket.ConnectionError) {
      socket = try RedisSocket(address.endpoint, timeout: timeouts.connect)
    } catch {
      throw RedisError(.unavailable, error.what, at: address, advice: "check the address, and whether the server runs")
    }
    try greet()
  }

  /// Sends a command and waits for its reply; where the reply is an error, it is thrown.
  ///
  /// Replies of commands that were appended before have to be read first.
  public func command(_ arguments: [RedisArgument]) throws(RedisError) -> RedisReply {
    trap(unless: pendingReplies == 0, "a command must not overtake replies that have not been read")
    append(arguments)
    let reply = try reply()
    if case .error(let text) = reply { throw RedisError(answer: text, from: address) }
    return reply
  }

  /// Queues a command; it is sent with ``flush()`` or when a reply is asked for.
  public func append(_ arguments: [RedisArgument]) {
    RedisArgument.append(arguments, to: &outgoing)
    pendingReplies += 1
  }

  /// Sends what was appended.
  public func flush() throws(RedisError) {
    guard !outgoing.isEmpty else { return }
    do throws(RedisSocket.ConnectionError) {
      try outgoing.withRawBytes { bytes throws(RedisSocket.ConnectionError) in try socket.send(bytes, timeout: timeouts.answer) }
    } catch {
      throw failed(error)
    }
    outgoing.removeAll(keepingCapacity: outgoing.count < 4 << 20)
  }

  /// The reply to the oldest command that waits for one; an error of the server is a reply like others.
  public func reply() throws(RedisError) -> RedisReply {
    trap(unless: pendingReplies > 0, "a reply needs a command")
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
      guard received < Self.maximumReplyBytes else { throw noRedis("a reply is longer than \(Self.maximumReplyBytes) bytes") }
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
    RedisError(.unavailable, failure.what, at: address, advice: "check whether the server runs")
  }

  private func noRedis(_ sentence: String) -> RedisError {
    RedisError(.refused, "speaks no Redis protocol that is understood (\(sentence))", at: address, advice: "check the address")
  }
}

extension RedisConnection {
  private static let codesOfNoAdmission: [String?] = ["NOAUTH", "DENIED", String(ServerError.tooManyClients)]

  /// Signs in, selects the database, names the connection, and looks at the server's version.
  func greet() throws(RedisError) {
    if let password = address.password {
      append(["AUTH"] + (address.user.map { [RedisArgument($0)] } ?? []) + [RedisArgument(password)])
    }
    if address.database != 0 { append(["SELECT", RedisArgument(address.database)]) }
    // Neither is worth a permission: the name is for those who look at CLIENT LIST.
    append(["CLIENT", "SETNAME", "prewarm"])
    append(["INFO", "server"])
    if address.password != nil, case .error(let text) = try reply() { throw RedisError(answerToAUTH: text, from: address) }
    if address.database != 0, case .error(let text) = try reply() { throw RedisError(answer: text, from: address) }
    if case .error(let text) = try reply() {
      let error = RedisError(answer: text, from: address)
      // Whom the server does not admit it tells so in place of its first answer, and closes the connection.
      if Self.codesOfNoAdmission.contains(error.code) { throw error }
    }
    guard let version = Self.version(in: try reply().text ?? "") else { return }
    guard version.isAtLeast(Self.requiredVersion) else {
      throw RedisError(
        .refused,
        "is version \(version.prefix(20))",
        at: address,
        advice: "version \(Self.requiredVersion) or later is needed"
      )
    }
  }

  /// The version that the answer to `INFO server` tells.
  static func version(in information: String) -> Substring? {
    for line in information.split(whereSeparator: \.isNewline) where line.hasPrefix("redis_version:") {
      return line.dropFirst("redis_version:".count).prefix { $0.isNumber || $0 == "." }
    }
    return nil
  }
}

extension Substring {
  /// Whether a version in dotted numbers is `other` or later.
  fileprivate func isAtLeast(_ other: String) -> Bool {
    let own = split(separator: ".").map { Int($0) ?? 0 }
    let others = other.split(separator: ".").map { Int($0) ?? 0 }
    return !own.lexicographicallyPrecedes(others)
  }
}

/// How long to wait before the next try to reach a server: drawn evenly from the upper half of what the backoff allows.
///
/// The lower half is left out so that no client hammers a server that many have lost together.
public struct ReconnectBackoff: Sendable {
  /// From 50 ms up to 5 s.
  public static let limits = Backoff(initial: .milliseconds(50), maximum: .seconds(5))

  /// Tries since the server answered last.
  private var tries = 0

  /// A backoff before its first wait.
  public init() {}

  /// The next wait.
  public mutating func next() -> Duration {
    var generator = SystemRandomNumberGenerator()
    return next(using: &generator)
  }

  /// The next wait, drawn from `generator`.
  public mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
    defer { tries += 1 }
    return Self.limits.limit(beforeRetry: tries) / 2 * Double.random(in: 1...2, using: &generator)
  }

  /// The server has answered: the next wait is the first again.
  public mutating func reset() { tries = 0 }
}
#endif
