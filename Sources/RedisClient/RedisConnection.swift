import ImagePrimitives

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
    do throws(RedisSocket.Failure) {
      socket = try RedisSocket(address.place, timeout: timeouts.connect)
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
    do throws(RedisSocket.Failure) {
      try outgoing.withRawBytes { bytes throws(RedisSocket.Failure) in try socket.send(bytes, timeout: timeouts.answer) }
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
      do throws(ReplyReader.Refusal) {
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
    do throws(RedisSocket.Failure) {
      count = try incoming.withUnsafeMutableBufferPointer { buffer throws(RedisSocket.Failure) in
        try socket.receive(into: UnsafeMutableRawBufferPointer(buffer), timeout: timeouts.answer)
      }
    } catch {
      throw failed(error)
    }
    do throws(ReplyReader.Refusal) {
      try incoming.withRawBytes { bytes throws(ReplyReader.Refusal) in
        try reader.feed(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
      }
    } catch {
      throw noRedis(error.sentence)
    }
    return count
  }

  private func failed(_ failure: RedisSocket.Failure) -> RedisError {
    RedisError(.unavailable, failure.what, at: address, advice: "check whether the server runs")
  }

  private func noRedis(_ sentence: String) -> RedisError {
    RedisError(.refused, "speaks no Redis protocol that is understood (\(sentence))", at: address, advice: "check the address")
  }
}
