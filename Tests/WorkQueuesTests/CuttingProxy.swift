import Foundation
import Glibc
import RedisClient
import Synchronization
import TestSupport

/// A proxy to a Redis server that loses replies: the request was executed, but the connection breaks before its reply
/// arrives.
final class CuttingProxy: Sendable {
  let port: UInt16
  /// Whether to lose a reply, given its number, from 0 over all connections, and its length.
  private let losesReply: @Sendable (_ number: Int, _ length: Int) -> Bool
  private let listener: Int32
  private let server: sockaddr_in
  private let replies = Atomic(0)
  private let losses = Atomic(0)

  /// The number of lost replies.
  var lossCount: Int { losses.load(ordering: .relaxed) }

  init(to server: RedisServer, losesReply: @escaping @Sendable (_ number: Int, _ length: Int) -> Bool) {
    self.losesReply = losesReply
    self.server = Self.address(server.host, UInt16(server.port))
    let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var own = Self.address("127.0.0.1", 0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &own) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        precondition(bind(listening, $0, size) == 0 && listen(listening, 16) == 0 && getsockname(listening, $0, &size) == 0)
      }
    }
    port = UInt16(bigEndian: own.sin_port)
    listener = listening
    Thread.detachNewThread { [weak self] in
      while true {
        let client = accept(listening, nil, nil)
        guard client >= 0, let self else { return }
        self.serve(client)
      }
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  var address: RedisAddress { get throws { try RedisAddress("redis://127.0.0.1:\(port)") } }

  private func serve(_ client: Int32) {
    let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = server
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else {
      close(client)
      close(upstream)
      return
    }
    let ends = Ends()
    Thread.detachNewThread { Self.pump(from: client, to: upstream, ends) { _ in true } }
    Thread.detachNewThread { [self] in
      Self.pump(from: upstream, to: client, ends) { length in
        let number = replies.wrappingAdd(1, ordering: .relaxed).oldValue
        guard losesReply(number, length) else { return true }
        losses.wrappingAdd(1, ordering: .relaxed)
        return false
      }
    }
  }

  /// Forwards bytes while `passes` allows; the last direction to end closes both sockets.
  private static func pump(from source: Int32, to target: Int32, _ ends: Ends, passes: (_ length: Int) -> Bool) {
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(source, &chunk, chunk.count, 0)
      guard count > 0, passes(count), send(target, chunk, count, Int32(MSG_NOSIGNAL)) == count else { break }
    }
    shutdown(source, Int32(SHUT_RDWR))
    shutdown(target, Int32(SHUT_RDWR))
    if ends.count.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue == 2 {
      close(source)
      close(target)
    }
  }

  private static func address(_ host: String, _ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    return address
  }

  /// The number of directions of a connection that have ended.
  private final class Ends: Sendable {
    let count = Atomic(0)
  }
}
