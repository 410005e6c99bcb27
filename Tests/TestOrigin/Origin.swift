import NIOCore
import NIOHTTP1
import NIOPosix
public import TestSupport

/// An HTTP/1.1 server on loopback that does what a test tells it, right or wrong, and remembers what it was asked.
///
/// Routes are keyed by path, or by path and query, which goes first; they may change while it runs. One event loop serves
/// an origin, so its order of events is total. It runs until ``stop()`` or until the last reference goes.
public final class Origin: Sendable {
  /// How an origin is listened to.
  public enum Address: Sendable {
    /// 127.0.0.1.
    case ipv4
    /// ::1.
    case ipv6
  }

  private let ledger: OriginLedger
  private let listeners: [any Channel]
  private let bases: [String]

  /// The ports, one a host, in the order of the addresses.
  public let ports: [Int]

  /// Listens on an ephemeral port for each of `addresses`: a host each, as clients count hosts.
  ///
  /// - Throws: What `bind` says.
  public init(
    _ routes: [String: Behaviour] = [:],
    fallback: Behaviour = .status(404),
    addresses: [Address] = [.ipv4]
  ) throws {
    let ledger = OriginLedger(OriginState(routes: routes.mapValues { .init(behaviour: $0) }, fallback: fallback))
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let bootstrap = ServerBootstrap(group: loop)
      .serverChannelOption(.backlog, value: 4096)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandlers(
            ByteToMessageHandler(HTTPRequestDecoder()),
            OriginConnection(ledger: ledger, port: channel.localAddress?.port ?? 0)
          )
        }
      }
    self.ledger = ledger
    listeners = try addresses.map { address in
      try bootstrap.bind(host: address == .ipv4 ? "127.0.0.1" : "::1", port: 0).wait()
    }
    ports = listeners.map { $0.localAddress?.port ?? 0 }
    bases = zip(addresses, ports).map { $0 == .ipv4 ? "http://127.0.0.1:\($1)" : "http://[::1]:\($1)" }
  }

  /// The first host's scheme, address and port, such as `http://127.0.0.1:40123`.
  public var base: String { bases[0] }

  /// The first host's port.
  public var port: Int { ports[0] }

  /// The URL of `path`, which starts with a slash, on one of the hosts, by default the first.
  public func url(_ path: String, host: Int = 0) -> String { bases[host] + path }

  /// Answers `path` so from now on, and starts its turns anew.
  public func set(_ path: String, _ behaviour: Behaviour) {
    ledger.withLock { $0.routes[path] = .init(behaviour: behaviour) }
  }

  /// Answers all that has no route so from now on.
  public func setFallback(_ behaviour: Behaviour) {
    ledger.withLock { state in
      state.fallback = behaviour
      state.fallbackTurns = [:]
    }
  }

  /// Answers all that has no route as `choose` says, which runs on the origin's thread.
  public func setFallback(_ choose: @escaping @Sendable (RecordedRequest) -> Behaviour) { setFallback(.computed(choose)) }

  /// Holds back every answer to `path` from now on, until the gate opens.
  public func hold(_ path: String) -> Gate {
    let gate = Gate()
    ledger.withLock { $0.holds[path] = gate }
    return gate
  }

  /// Holds back every answer from now on, until the gate opens.
  public func holdAll() -> Gate {
    let gate = Gate()
    ledger.withLock { $0.holdAll = gate }
    return gate
  }

  /// Stops listening, closes every connection, and waits until that is done; a second call does nothing.
  public func stop() {
    for listener in listeners { try? listener.close().wait() }
    for channel in ledger.value.connections.values { try? channel.close().wait() }
  }

  deinit {
    // No waiting: the last reference may go on the event loop itself.
    for listener in listeners { listener.close(promise: nil) }
    for channel in ledger.value.connections.values { channel.close(promise: nil) }
  }
}

/// What came.
extension Origin {
  /// Every request, in order of arrival.
  public var requests: [RecordedRequest] { ledger.value.requests }

  /// How many requests came for `path`, whatever their query; with a query in `path`, for just that.
  public func count(of path: String) -> Int { ledger.value.counts[path] ?? 0 }

  /// Requests received whose response has not ended.
  public var inFlight: Int { ledger.value.totalInFlight }

  /// The most requests that ever were in flight at once, over all hosts.
  public var peakInFlight: Int { ledger.value.totalPeakInFlight }

  /// The most requests that ever were in flight at once to one of the hosts.
  public func peakInFlight(host: Int) -> Int { ledger.value.peakInFlight[ports[host]] ?? 0 }

  /// Each request that came while another of its target was in flight, with that one.
  ///
  /// A request on a new connection may be read after a later one on an old connection: a test that wants to know in which order they
  /// were sent has the client number them in a header.
  public var overlaps: [(earlier: RecordedRequest, later: RecordedRequest)] { ledger.value.overlaps }

  /// Whether the whole response to `request` was written before its connection closed.
  public func hasAnswered(_ request: RecordedRequest) -> Bool { ledger.value.answered.contains(request.sequence) }

  /// The connections accepted until now.
  public var connectionsOpened: Int { ledger.value.connectionsOpened }

  /// The connections that are open now.
  public var openConnections: Int { ledger.value.connections.count }
}

/// Waiting, blocking or not, for at most ``Swift/Duration/patience`` unless said otherwise.
extension Origin {
  /// Blocks until at least `count` requests have come in all.
  public func waitForRequests(_ count: Int, timeout: Duration = .patience) throws {
    try ledger.wait(for: "\(count) requests", timeout: timeout) { $0.requests.count >= count }
  }

  /// Suspends until at least `count` requests have come in all.
  public func waitForRequests(_ count: Int, timeout: Duration = .patience) async throws {
    try await ledger.wait(for: "\(count) requests", timeout: timeout) { $0.requests.count >= count }
  }

  /// Blocks until at least `count` requests have come for `path`.
  public func waitForRequests(_ count: Int, of path: String, timeout: Duration = .patience) throws {
    try ledger.wait(for: "\(count) requests of \(path)", timeout: timeout) { $0.counts[path] ?? 0 >= count }
  }

  /// Suspends until at least `count` requests have come for `path`.
  public func waitForRequests(_ count: Int, of path: String, timeout: Duration = .patience) async throws {
    try await ledger.wait(for: "\(count) requests of \(path)", timeout: timeout) {
      $0.counts[path] ?? 0 >= count
    }
  }

  /// Blocks until just `count` requests are in flight: with 0, until every response has ended and every client that gave
  /// up is seen to be gone.
  public func waitForInFlight(_ count: Int, timeout: Duration = .patience) throws {
    try ledger.wait(for: "\(count) requests in flight", timeout: timeout) { $0.totalInFlight == count }
  }

  /// Suspends until just `count` requests are in flight.
  public func waitForInFlight(_ count: Int, timeout: Duration = .patience) async throws {
    try await ledger.wait(for: "\(count) requests in flight", timeout: timeout) { $0.totalInFlight == count }
  }

  /// Blocks until just `count` connections are open.
  public func waitForOpenConnections(_ count: Int, timeout: Duration = .patience) throws {
    try ledger.wait(for: "\(count) open connections", timeout: timeout) { $0.connections.count == count }
  }

  /// Suspends until just `count` connections are open.
  public func waitForOpenConnections(_ count: Int, timeout: Duration = .patience) async throws {
    try await ledger.wait(for: "\(count) open connections", timeout: timeout) { $0.connections.count == count }
  }
}
