import Glibc

/// A port of 127.0.0.1 that refuses every connection, reserved as long as this lives.
public final class RefusedPort: Sendable {
  private let socket: LoopbackSocket

  public init() { socket = LoopbackSocket() }

  public var port: Int { socket.port }

  public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}

/// A port of 127.0.0.1 where connecting never completes: a listener with a full queue that accepts nothing.
public final class BlackHole: Sendable {
  private let listener = LoopbackSocket()
  private let filler = LoopbackSocket()

  public init() {
    // With a backlog of 0 Linux queues one connection (`sk_acceptq_is_full`), and drops every SYN after that.
    guard listen(listener.descriptor, 0) == 0 else { fatalError("listen: \(String(cString: strerror(errno)))") }
    guard filler.connect(port: listener.port) == 0 else { fatalError("connect: \(String(cString: strerror(errno)))") }
    // The client's side connects a moment before the connection is in the listener's queue.
    var waiting = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&waiting, 1, -1) < 0, errno == EINTR {}
  }

  public var port: Int { listener.port }

  public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}

/// A port of 127.0.0.1 that was free a moment ago, for a server that needs a port number.
public func freePort() -> Int { LoopbackSocket().port }

/// A TCP socket bound to an ephemeral port of 127.0.0.1, closed with its owner.
final class LoopbackSocket: Sendable {
  let descriptor: Int32
  let port: Int

  init() {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = loopbackAddress(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failure = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) != 0 || getsockname(descriptor, address, &length) != 0
      }
    }
    if failure { fatalError("bind to 127.0.0.1: \(String(cString: strerror(errno)))") }
    self.descriptor = descriptor
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  deinit { close(descriptor) }

  /// Connects to another port of 127.0.0.1; returns what `connect` returns.
  func connect(port: Int) -> Int32 {
    var address = loopbackAddress(port: port)
    return withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        Glibc.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}

private func loopbackAddress(port: Int) -> sockaddr_in {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = UInt16(port).bigEndian
  address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
  return address
}
