import NIOCore
import TestSupport

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
