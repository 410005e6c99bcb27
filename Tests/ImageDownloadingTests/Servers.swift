import Foundation
import TestSupport

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

/// `openssl s_server` with an untrusted certificate.
final class TLSServer {
  let port: Int
  private let server: Command
  private let directory = TemporaryDirectory()

  init() async throws {
    let (key, certificate) = (directory.file("key.pem"), directory.file("certificate.pem"))
    let files = ["-keyout", key, "-out", certificate]
    let request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "1"]
    _ = try await Command("/usr/bin/openssl", request + files).wait()
    let options = ["-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www"]
    server = try Command("/usr/bin/openssl", ["s_server"] + options, input: .open)
    // It prints "ACCEPT 127.0.0.1:PORT" once it listens.
    try await server.waitForOutput("ACCEPT 127.0.0.1:")
    let line = server.outputText.split(separator: "\n").first { $0.hasPrefix("ACCEPT") } ?? ""
    port = Int(line.split(separator: ":").last ?? "") ?? 0
  }
}
