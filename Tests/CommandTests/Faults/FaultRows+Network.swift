import TestOrigin
import TestSupport

private let impatient = "request: {retries: 0, connect-timeout: 1s}"

extension FaultRow {
  /// Unreachable servers.
  static let network: [FaultRow] = [
    .network("a port that refuses", "connect", "Connection refused") { scene in
      let port = RefusedPort()
      scene.kept.append(port)
      return port.url("/fault.jpg")
    },
    .network("a port that never responds", "connect", "within 1 s", keys: impatient) { scene in
      let hole = BlackHole()
      scene.kept.append(hole)
      return hole.url("/fault.jpg")
    },
    .network("an unreachable network", "connect", "no connection to 255.255.255.255") { _ in "http://255.255.255.255/fault.jpg"
    },
    .resolver("an unknown name", "nobody.none"),
    .resolver("a resolver that is down", "images.down", exit: 1),
    .resolver("a resolver that fails", "images.broken", exit: 1),
    .resolver("a resolver that never responds", "images.asleep", keys: impatient),
    .network("TLS to a plain port", "tls", "the TLS handshake with") { scene in "https://127.0.0.1:\(scene.origin.port)/fault.jpg"
    },
    .network("a server that closes every connection", "reset", "closed the connection") { scene in
      let origin = try Origin(fallback: .close)
      scene.kept.append(origin)
      return origin.url("/fault.jpg")
    },
    .network("a self-signed certificate", "tls", "certificate") { scene in
      let server = try await SelfSignedServer()
      scene.kept.append(server)
      return "https://127.0.0.1:\(server.port)/fault.jpg"
    },
    .network("a transfer above its timeout", "timeout", "took more than 1 s", keys: "request: {retries: 0, timeout: 1s}") {
      scene in
      let gate = Gate()
      scene.kept.append(gate)
      scene.origin.set("/slow.jpg", .paused(SampleImages.jpeg(8), after: 20, gate))
      return scene.origin.url("/slow.jpg")
    },
  ]

  private static func resolver(_ fault: String, _ name: String, keys: String = "", exit: Int = 2) -> FaultRow {
    var row = FaultRow.network(fault, "dns", "the name \(name) ", keys: keys) { scene in
      scene.environment["LD_PRELOAD"] = Preload.resolver.path
      return "http://\(name)/fault.jpg"
    }
    row.exit = exit
    return row
  }
}

/// OpenSSL's own server, with a self-signed certificate.
private final class SelfSignedServer {
  let port: Int
  private let folder = TemporaryDirectory()
  private let command: Command

  init() async throws {
    let (key, certificate) = (folder.file("key.pem"), folder.file("certificate.pem"))
    let subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    let made = try await Command.run(
      "/usr/bin/openssl",
      ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate] + subject
    )
    guard made.status == 0 else { throw NoAnswer(description: made.errorText) }
    port = freePort()
    let files = ["-cert", certificate, "-key", key]
    command = try Command("/usr/bin/openssl", ["s_server", "-accept", "127.0.0.1:\(port)", "-www"] + files, input: .open)
    try await command.waitForOutput("ACCEPT")
  }
}
