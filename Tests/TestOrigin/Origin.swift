import NIOCore
import NIOHTTP1
import NIOPosix
import TestSupport

/// An HTTP/1.1 server on loopback that behaves as a test says, correctly or not, and records requests.
///
/// Routes are keyed by path, or by path and query, which takes precedence; they may change while it runs. One event loop serves an
/// origin, so the order of its events is total. It runs until ``stop()`` or until the last reference is released.
public final class Origin: Sendable {
  public enum Address: Sendable {
    case ipv4
    case ipv6
  }

  private let ledger: OriginLedger
  private let listeners: [any Channel]
  private let bases: [String]

  /// The ports, one per host, in the order of the addresses.
  public let ports: [Int]

  /// Listens on an ephemeral port for each of `addresses`: each is a host, as clients count hosts.
  ///
  /// - Throws: The error of `bind`.
  public init(_ routes: [String: Behaviour] = [:], fallback: Behaviour = .status(404), addresses: [Address] = [.ipv4]) throws {
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

  public var port: Int { ports[0] }

  /// The URL of `path`, which starts with a slash, on one of the hosts, by default the first.
  public func url(_ path: String, host: Int = 0) -> String { bases[host] + path }

  /// Sets the behaviour of `path`, and restarts its turns.
  public func set(_ path: String, _ behaviour: Behaviour) {
    ledger.withLock { $0.routes[path] = .init(behaviour: behaviour) }
  }

  /// Sets the behaviour of all paths without a route.
  public func setFallback(_ behaviour: Behaviour) {
    ledger.withLock { state in
      state.fallback = behaviour
      state.fallbackTurns = [:]
    }
  }

  /// Lets `choose` respond to all paths without a route; it runs on the origin's thread.
  public func setFallback(_ choose: @escaping @Sendable (RecordedRequest) -> Behaviour) { setFallback(.computed(choose)) }

  /// Holds back every response to `path` from now on, until the gate opens.
  public func hold(_ path: String) -> Gate {
    let gate = Gate()
    ledger.withLock { $0.holds[path] = gate }
    return gate
  }

  /// Holds back every response from now on, until the gate opens.
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
    // Without waiting: the last reference may be released on the event loop itself.
    for listener in listeners { listener.close(promise: nil) }
    for channel in ledger.value.connections.values { channel.close(promise: nil) }
  }
}

extension Origin {
  public var requests: [RecordedRequest] { ledger.value.requests }

  /// The number of requests for `path` with any query; if `path` has a query, for exactly that.
  public func count(of path: String) -> Int { ledger.value.counts[path] ?? 0 }

  public var inFlight: Int { ledger.value.totalInFlight }

  /// The maximum number of requests in flight at once, over all hosts.
  public var peakInFlight: Int { ledger.value.totalPeakInFlight }

  /// The maximum number of requests in flight at once to one of the hosts.
  public func peakInFlight(host: Int) -> Int { ledger.value.peakInFlight[ports[host]] ?? 0 }

  /// Each request that arrived while another of the same target was in flight, with that one.
  ///
  /// A request on a new connection may be read after a later one on an old connection: tests that need the order of sending number requests
  /// in a header.
  public var overlaps: [(earlier: RecordedRequest, later: RecordedRequest)] { ledger.value.overlaps }

  /// Whether the whole response to `request` was written before its connection closed.
  public func hasAnswered(_ request: RecordedRequest) -> Bool { ledger.value.answered.contains(request.sequence) }

  public var connectionsOpened: Int { ledger.value.connectionsOpened }
}

/// Waiting, blocking or suspending, for at most ``Swift/Duration/patience``.
extension Origin {
  /// Until at least `count` requests have arrived.
  public func waitForRequests(_ count: Int) throws { try ledger.wait(for: "\(count) requests") { $0.requests.count >= count } }

  public func waitForRequests(_ count: Int) async throws {
    try await ledger.wait(for: "\(count) requests") { $0.requests.count >= count }
  }

  /// Until at least `count` requests for `path` have arrived.
  public func waitForRequests(_ count: Int, of path: String) throws {
    try ledger.wait(for: "\(count) requests of \(path)") { $0.counts[path] ?? 0 >= count }
  }

  public func waitForRequests(_ count: Int, of path: String) async throws {
    try await ledger.wait(for: "\(count) requests of \(path)") { $0.counts[path] ?? 0 >= count }
  }

  /// Until exactly `count` requests are in flight: with 0, until every response has ended and the disconnect of every client that gave up
  /// was noticed.
  public func waitForInFlight(_ count: Int) throws { try ledger.wait(for: "\(count) in flight") { $0.totalInFlight == count } }

  public func waitForInFlight(_ count: Int) async throws {
    try await ledger.wait(for: "\(count) in flight") { $0.totalInFlight == count }
  }

  /// Until exactly `count` connections are open.
  public func waitForOpenConnections(_ count: Int) async throws {
    try await ledger.wait(for: "\(count) open connections") { $0.connections.count == count }
  }
}

/// An origin's state: its routes, received requests, and those in flight. One lock, shared by the tests and the event loop.
struct OriginState: Sendable {
  struct Route: Sendable {
    var behaviour: Behaviour
    var turns = 0
  }

  var routes: [String: Route] = [:]
  var fallback: Behaviour
  var fallbackTurns: [String: Int] = [:]
  var holdAll: Gate?
  var holds: [String: Gate] = [:]

  var requests: [RecordedRequest] = []
  /// The number of requests per path, and per whole target with a query.
  var counts: [String: Int] = [:]
  var connectionsOpened = 0
  var connections: [Int: any Channel] = [:]
  var inFlight: [Int: Int] = [:]
  var peakInFlight: [Int: Int] = [:]
  var totalPeakInFlight = 0
  /// The requests in flight per target, by their sequence.
  var inFlightOfTarget: [String: [Int]] = [:]
  var overlaps: [(earlier: RecordedRequest, later: RecordedRequest)] = []
  /// The requests whose responses were sent completely, by their sequence.
  var answered: Set<Int> = []

  var totalInFlight: Int { inFlight.values.reduce(0, +) }

  /// Numbers a new connection.
  mutating func open(_ channel: any Channel) -> Int {
    connectionsOpened += 1
    connections[connectionsOpened] = channel
    return connectionsOpened
  }

  /// Records a request and finds its behaviour, with its turn.
  mutating func receive(_ request: RecordedRequest) -> (behaviour: Behaviour, turn: Int) {
    requests.append(request)
    counts[request.path, default: 0] += 1
    if request.target != request.path { counts[request.target, default: 0] += 1 }
    inFlight[request.port, default: 0] += 1
    peakInFlight[request.port] = max(peakInFlight[request.port] ?? 0, inFlight[request.port] ?? 0)
    totalPeakInFlight = max(totalPeakInFlight, totalInFlight)
    for earlier in inFlightOfTarget[request.target] ?? [] { overlaps.append((requests[earlier - 1], request)) }
    inFlightOfTarget[request.target, default: []].append(request.sequence)

    var (behaviour, turn) = route(request)
    for gate in [holds[request.target] ?? holds[request.path], holdAll] {
      if let gate { behaviour = .held(gate, then: behaviour) }
    }
    return (behaviour, turn)
  }

  /// Records that a response was sent completely, or that its connection has ended.
  mutating func end(_ request: RecordedRequest, isAnswered: Bool) {
    if isAnswered { answered.insert(request.sequence) }
    inFlight[request.port, default: 0] -= 1
    inFlightOfTarget[request.target]?.removeAll { $0 == request.sequence }
  }

  /// A whole target takes precedence over a path, and a path over the fallback.
  private mutating func route(_ request: RecordedRequest) -> (Behaviour, Int) {
    for key in [request.target, request.path] {
      guard var route = routes[key] else { continue }
      route.turns += 1
      routes[key] = route
      return (route.behaviour, route.turns)
    }
    fallbackTurns[request.target, default: 0] += 1
    return (fallback, fallbackTurns[request.target] ?? 1)
  }
}

typealias OriginLedger = Watched<OriginState>
