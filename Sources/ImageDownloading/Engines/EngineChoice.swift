/// Decides which engine runs a host's next transfer.
///
/// A connection stays with its engine. So a host has a home among the engines: requests that come one after another meet there, and find
/// an open connection. Those at the same time spread evenly from there on, except over TLS as long as the server may speak HTTP/2, whose
/// requests share a connection.
struct EngineChoice {
  private(set) var count = 1
  /// The number of engines that ``running`` has room for.
  private var stride = 1
  /// Running transfers, by host and engine.
  private var running: [UInt16] = []
  /// By host: whether it has responded by HTTP/1.1.
  private var hasHTTP1: [Bool] = []

  /// Changes the number of engines for new transfers, at least 1.
  mutating func setCount(_ count: Int) {
    self.count = count
    guard count > stride else { return }
    let old = stride
    var wider = [UInt16](repeating: 0, count: hasHTTP1.count * count)
    for host in hasHTTP1.indices {
      for engine in 0..<old { wider[host * count + engine] = running[host * old + engine] }
    }
    (running, stride) = (wider, count)
  }

  /// The engine for a transfer to `host`, which then counts as running there until ``finish(host:engine:)``.
  mutating func start(host: Int, mayUseHTTP2: Bool) -> Int {
    // Counted from the second engine on; those that ran before count as none.
    guard stride > 1 else { return 0 }
    makeRoom(for: host)
    let home = host % count
    var best = home
    if !mayUseHTTP2 || hasHTTP1[host] {
      for step in 0..<count {
        let engine = (home + step) % count
        if running[host * stride + engine] < running[host * stride + best] { best = engine }
      }
    }
    running[host * stride + best] &+= 1
    return best
  }

  mutating func finish(host: Int, engine: Int) {
    guard host < hasHTTP1.count, stride > 1, running[host * stride + engine] > 0 else { return }
    running[host * stride + engine] -= 1
  }

  /// Records that `host` has responded by HTTP/1.1.
  mutating func noteHTTP1(of host: Int) {
    makeRoom(for: host)
    hasHTTP1[host] = true
  }

  /// The number `host` may mean another host from now on.
  mutating func forget(host: Int) {
    if host < hasHTTP1.count { hasHTTP1[host] = false }
  }

  private mutating func makeRoom(for host: Int) {
    guard host >= hasHTTP1.count else { return }
    let hosts = max(host + 1, 2 * hasHTTP1.count)
    running.append(contentsOf: repeatElement(0, count: hosts * stride - running.count))
    hasHTTP1.append(contentsOf: repeatElement(false, count: hosts - hasHTTP1.count))
  }
}
