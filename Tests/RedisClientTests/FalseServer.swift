import Foundation
import Glibc
import RedisClient
import Synchronization

/// A server that sends the test's bytes for any request: first a greeting, then the rest.
final class FalseServer: Sendable {
  let address: RedisAddress

  /// Responds to the first request of each connection with `bytes`, and then keeps it open or closes it.
  init(says bytes: [UInt8], closes: Bool = false) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var own = sockaddr_in()
    own.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, "127.0.0.1", &own.sin_addr)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &own) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        precondition(bind(listener, $0, size) == 0 && listen(listener, 4) == 0 && getsockname(listener, $0, &size) == 0)
      }
    }
    address = try RedisAddress("redis://me:secret@127.0.0.1:\(UInt16(bigEndian: own.sin_port))")
    Thread.detachNewThread {
      let client = accept(listener, nil, nil)
      close(listener)
      var chunk = [UInt8](repeating: 0, count: 4096)
      guard client >= 0, recv(client, &chunk, chunk.count, 0) > 0 else { return }
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { break }
        rest = rest.dropFirst(count)
      }
      // Until the client disconnects.
      if !closes { while recv(client, &chunk, chunk.count, 0) > 0 {} }
      close(client)
    }
  }

  /// The replies to a client's greeting, followed by `text`.
  static func greeting(version: String = "7.0.15", then text: String = "") -> [UInt8] {
    let information = "# Server\r\nredis_version:\(version)\r\nredis_mode:standalone\r\n"
    return Array("+OK\r\n+OK\r\n$\(information.utf8.count)\r\n\(information)\r\n\(text)".utf8)
  }
}
