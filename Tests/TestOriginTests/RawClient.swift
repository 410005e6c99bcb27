import Glibc
import TestSupport

/// A TCP client that sends any bytes and reports how the connection ended; each of its calls blocks.
final class RawClient: Sendable {
  /// How a connection ended.
  enum Ending: Equatable {
    case closed
    case failed(Int32)
  }

  private let descriptor: Int32

  init(port: Int, ipv6: Bool = false) throws {
    descriptor = socket(ipv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    // The timeout makes a test fail instead of hang.
    var limit = timeval(tv_sec: Int(Duration.patience.components.seconds), tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    guard connect(descriptor, port: port, ipv6: ipv6) == 0 else { throw SystemFailure(code: errno) }
  }

  deinit { close(descriptor) }

  func send(_ text: String) {
    let bytes = Array(text.utf8)
    precondition(write(descriptor, bytes, bytes.count) == bytes.count)
  }

  /// Sends a request without a body.
  func request(_ path: String, method: String = "GET", headers: String = "") {
    send("\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(headers)\r\n")
  }

  /// Reads exactly `count` bytes.
  func read(_ count: Int) throws -> String {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var chunk = [UInt8](repeating: 0, count: count - bytes.count)
      let received = Glibc.read(descriptor, &chunk, chunk.count)
      guard received > 0 else { throw SystemFailure(code: received == 0 ? 0 : errno) }
      bytes += chunk[..<received]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads the head of a response, with the empty line.
  func readHead() throws -> String {
    var text = ""
    while !text.hasSuffix("\r\n\r\n") { text += try read(1) }
    return text
  }

  /// Reads to the end.
  func readAll() -> (text: String, ending: Ending) {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count > 0 {
        bytes += chunk[..<count]
      } else {
        return (String(decoding: bytes, as: UTF8.self), count == 0 ? .closed : .failed(errno))
      }
    }
  }
}

/// The error of a system call.
struct SystemFailure: Error, Equatable {
  let code: Int32
}

private func connect(_ descriptor: Int32, port: Int, ipv6: Bool) -> Int32 {
  var storage = sockaddr_storage()
  let length = withUnsafeMutableBytes(of: &storage) { bytes -> Int in
    if ipv6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = UInt16(port).bigEndian
      address.sin6_addr = in6addr_loopback
      bytes.storeBytes(of: address, as: sockaddr_in6.self)
      return MemoryLayout<sockaddr_in6>.size
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    bytes.storeBytes(of: address, as: sockaddr_in.self)
    return MemoryLayout<sockaddr_in>.size
  }
  return withUnsafePointer(to: &storage) { storage in
    storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, socklen_t(length)) }
  }
}
