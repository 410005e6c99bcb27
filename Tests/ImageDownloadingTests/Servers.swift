import Foundation

/// A TCP listener on loopback.
private func listen(queue: Int32) -> (socket: Int32, port: Int) {
  let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      precondition(bind(listener, address, length) == 0 && listen(listener, queue) == 0)
      getsockname(listener, address, &length)
    }
  }
  return (listener, Int(UInt16(bigEndian: address.sin_port)))
}

/// A listener that responds to the first bytes of each connection with fixed text, possibly empty, and closes it.
final class ClosingListener {
  let port: Int
  private let listener: Int32

  init(answer: String = "") {
    let (listener, port) = listen(queue: 8)
    self.port = port
    self.listener = listener
    // It blocks, so it needs a thread of its own, which ends when the listener is shut down.
    Thread.detachNewThread {
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { break }
        var bytes = [UInt8](repeating: 0, count: 4096)
        _ = read(client, &bytes, bytes.count)
        _ = write(client, answer, answer.utf8.count)
        close(client)
      }
      close(listener)
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
