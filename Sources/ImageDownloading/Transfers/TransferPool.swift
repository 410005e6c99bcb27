import Platform
import Base

/// All transfers, on the loop of the transfer thread and on those of other threads. Used on the transfer thread only.
final class TransferPool {
  /// The loop of this thread.
  let loop: CurlLoop
  private var others: [CurlThread] = []
  /// The same, for all threads.
  let threads = CurlThreads()
  private var choice = LoopChoice()
  private let shares: CurlShares
  private var transfers: [Transfer] = []
  /// The indices of free transfers, by loop.
  private var free: [[Int]] = [[]]
  /// By loop: the connections opened so far.
  private var openedConnections = [0]
  /// The number of `Set-Cookie` headers since the last check of the jar.
  private var cookiesSet = 0

  /// Creates a pool whose loop also watches `wakeDescriptor`.
  init(wakeDescriptor: Int32, time: TimeSource) throws(DownloaderError) {
    loop = try CurlLoop(number: 0, wakeDescriptor: wakeDescriptor, time: time)
    shares = try CurlShares()
  }

  /// A free transfer for `host`, on the loop that is to run it.
  func transfer(for host: Int, _ options: PreparedOptions, mayUseHTTP2: Bool) -> Transfer {
    let number = choice.start(host: host, mayUseHTTP2: mayUseHTTP2)
    let index = free[number].popLast() ?? transfers.count
    if index == transfers.count {
      let loop = number == 0 ? loop : others[number - 1].loop
      transfers.append(Transfer(index: index, options: options, loop: loop, shares: shares))
    }
    return transfers[index]
  }

  subscript(index: Int) -> Transfer { transfers[index] }

  /// The transfer of a request; nil if the request has ended.
  subscript(id: CurlReport.ID) -> Transfer? {
    let transfer = transfers[id.index]
    return transfer.run == id.run ? transfer : nil
  }

  func start(_ transfer: Transfer) {
    if transfer.loop == 0 { loop.start(transfer) } else { others[transfer.loop - 1].start(transfer) }
  }

  func stop(_ transfer: Transfer) {
    if transfer.loop == 0 { loop.stop(transfer) } else { others[transfer.loop - 1].whileHalted { $0.stop(transfer) } }
  }

  /// Makes the progress of a running transfer be reported, with the response's head.
  func observe(_ transfer: Transfer) {
    let observe = { (_: CurlLoop) in
      transfer.isObserved = true
      transfer.request.needsHead = true
    }
    if transfer.loop == 0 { observe(loop) } else { others[transfer.loop - 1].whileHalted(observe) }
  }

  /// Frees an ended transfer to `host`.
  func free(_ transfer: Transfer, host: Int, mayUseHTTP2: Bool) {
    choice.finish(host: host, loop: transfer.loop)
    if choice.count > 1, mayUseHTTP2, transfer.hasRespondedByHTTP1 { choice.noteHTTP1(of: host) }
    transfer.end()
    free[transfer.loop].append(transfer.index)
  }

  /// The number `host` may mean another host from now on.
  func forget(host: Int) { choice.forget(host: host) }

  func count(_ report: CurlReport) {
    openedConnections[report.loop] = report.openedConnections
    cookiesSet += report.cookiesSet
  }

  var openedConnectionCount: Int { openedConnections.reduce(0, +) }

  /// libcurl keeps all cookies and searches those of a domain for each one set.
  func boundCookies() {
    guard cookiesSet >= CurlShares.checkedCookies else { return }
    cookiesSet = 0
    // So that none sets a cookie meanwhile.
    for other in others { other.whileHalted { _ in } }
    shares.boundCookies()
  }

  func closeIdleConnections() {
    loop.closeIdleConnections()
    for other in others { other.whileHalted { $0.closeIdleConnections() } }
  }

  func clearCookies() { shares.clearCookies() }

  /// Sends what other threads are to do, and lets those that were halted continue.
  func flush() {
    for other in others {
      other.resume()
      other.flush()
    }
  }

  /// Makes `count` threads run transfers, or fewer if the system has no more. Those beyond a lower number run what they have to its end.
  func setThreads(_ count: Int, creating: (_ number: Int) throws(DownloaderError) -> CurlThread) {
    while others.count < count - 1 {
      do throws(DownloaderError) {
        let thread = try creating(others.count + 1)
        others.append(thread)
        threads.add(thread)
        free.append([])
        openedConnections.append(0)
      } catch {
        break
      }
    }
    choice.setCount(min(count, 1 + others.count))
  }

  /// Keeps twice as many connections as transfers, so that idle ones stay open for hosts that alternate.
  func limitConnections(concurrency: Int) {
    let count = (concurrency * 2 + choice.count - 1) / choice.count
    loop.setMaximumConnections(count)
    for other in others { other.setMaximumConnections(count) }
  }

  /// Ends the other threads; nothing may run.
  func end() {
    for other in others { other.end() }
    others.removeAll()
    threads.removeAll()
    transfers.removeAll()
  }
}

/// Decides which loop runs a host's next transfer.
///
/// A connection stays with its loop. So a host has a home among the loops, where requests one after another find it open. Those
/// at the same time spread evenly, except over TLS as long as the server may speak HTTP/2, whose requests share a connection.
struct LoopChoice {
  private(set) var count = 1
  /// The number of loops that ``running`` has room for.
  private var stride = 1
  /// Running transfers, by host and loop.
  private var running: [UInt16] = []
  /// By host: whether it has responded by HTTP/1.1.
  private var hasHTTP1: [Bool] = []

  /// Changes the number of loops for new transfers, at least 1.
  mutating func setCount(_ count: Int) {
    self.count = count
    guard count > stride else { return }
    let old = stride
    var wider = [UInt16](repeating: 0, count: hasHTTP1.count * count)
    for host in hasHTTP1.indices {
      for loop in 0..<old { wider[host * count + loop] = running[host * old + loop] }
    }
    (running, stride) = (wider, count)
  }

  /// The loop for a transfer to `host`, which then counts as running there until ``finish(host:loop:)``.
  mutating func start(host: Int, mayUseHTTP2: Bool) -> Int {
    // Counted from the second loop on; those that ran before count as none.
    guard stride > 1 else { return 0 }
    makeRoom(for: host)
    let home = host % count
    var best = home
    if !mayUseHTTP2 || hasHTTP1[host] {
      for step in 0..<count {
        let loop = (home + step) % count
        if running[host * stride + loop] < running[host * stride + best] { best = loop }
      }
    }
    running[host * stride + best] &+= 1
    return best
  }

  mutating func finish(host: Int, loop: Int) {
    guard host < hasHTTP1.count, stride > 1, running[host * stride + loop] > 0 else { return }
    running[host * stride + loop] -= 1
  }

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
