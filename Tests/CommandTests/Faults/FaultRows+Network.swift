import TestOrigin
import TestSupport
import Testing

private let impatient = "request: {retries: 0, connect-timeout: 1s}"

extension FaultRow {
  /// Unreachable servers.
  static let network: [FaultRow] = [
    .network("a port that refuses", "connect", "Connection refused") { $0.keep(RefusedPort()).url("/fault.jpg") },
    .network("a port that never responds", "connect", "within 1 s", keys: impatient) { $0.keep(BlackHole()).url("/fault.jpg") },
    .network("an unreachable network", "connect", "no connection to 255.255.255.255") { _ in "http://255.255.255.255/fault.jpg" },
    .resolver("an unknown name", "nobody.none"),
    .resolver("a resolver that is down", "images.down", exit: 1),
    .resolver("a resolver that fails", "images.broken", exit: 1),
    .resolver("a resolver that never responds", "images.asleep", keys: impatient),
    .network("TLS to a plain port", "tls", "the TLS handshake with") { "https://127.0.0.1:\($0.origin.port)/fault.jpg" },
    .network("a server that closes every connection", "reset", "closed the connection") {
      try $0.keep(Origin(fallback: .close)).url("/fault.jpg")
    },
    .network("a self-signed certificate", "tls", "certificate") { scene in
      let (certificates, port) = (try await Certificates.shared.value, freePort())
      let files = ["-cert", certificates.authority, "-key", certificates.authorityKey]
      let arguments = ["s_server", "-accept", "127.0.0.1:\(port)", "-www"] + files
      let server = scene.keep(try Command("/usr/bin/openssl", arguments, input: .open))
      try await server.waitForOutput("ACCEPT")
      return "https://127.0.0.1:\(port)/fault.jpg"
    },
    .network("a transfer above its timeout", "timeout", "took more than 1 s", keys: "request: {retries: 0, timeout: 1s}") {
      scene in
      let gate = scene.keep(Gate())
      scene.origin.set("/slow.jpg", .paused(SampleImages.jpeg(8), after: 20, gate))
      return scene.origin.url("/slow.jpg")
    },
  ]

  private static func resolver(_ fault: String, _ name: String, keys: String = "", exit: Int = 2) -> FaultRow {
    FaultRow("network", fault, .failed("dns", "the name \(name) ", exit: exit), keys: keys) { scene in
      scene.environment["LD_PRELOAD"] = Preload.resolver.path
      scene.urls.append("http://\(name)/fault.jpg")
    }
  }
}

extension FaultRow {
  /// nginx with TLS, and the trust between it and prewarm.
  static let encrypted: [FaultRow] = [
    .nginx("a private authority, over HTTP/2") { $0.set("request.http=2") },
    .nginx("an authority that is not trusted", .failed("tls", "certificate"), trusts: .theSystems),
    .nginx("an authority other than the trusted one", .failed("tls", "certificate"), trusts: .another),
    .nginx("a certificate for another name", .failed("tls", "certificate")) { scene in
      let port = scene.urls.removeLast().split(separator: ":").last?.prefix { $0 != "/" } ?? ""
      scene.urls.append("https://image.invalid/fault.jpg")
      scene.set("request.connect-to=['image.invalid:443:127.0.0.1:\(port)']")
    },
    .nginx("an untrusted authority without verification", trusts: .theSystems) { $0.set("request.tls.verify=false") },
    .nginx("a server without the required HTTP/2", .failed("connect", "doesn't support HTTP/2"), http2: false) {
      $0.set("request.http=2")
    },
    .nginx("a required client certificate that is sent", asksClients: true, shows: .its),
    .nginx("a required client certificate that is missing", .failed("http-status", "400 Bad Request"), asksClients: true),
    .nginx(
      "a client certificate of another authority",
      .failed("http-status", "400 Bad Request"),
      asksClients: true,
      shows: .another
    ),
    .nginx("an invalid key", .failed("tls", "cannot use the client certificate"), asksClients: true, shows: .its) { scene in
      scene.job.folder.write("no key\n", to: "no.key")
      scene.set("request.tls.client-key=no.key")
    },
    .nginx("invalid trusted certificates", .failed("tls", "no.pem as PEM"), trusts: .theSystems) { scene in
      scene.job.folder.write("no certificate\n", to: "no.pem")
      scene.set("request.tls.ca-file=no.pem")
    },
    .nginx("missing trusted certificates", .ended(1, "absent.pem"), trusts: .theSystems) {
      $0.set("request.tls.ca-file=absent.pem")
    },
  ]

  /// The authority that signed a certificate.
  private enum Authority {
    case its, another, theSystems
  }

  private static func nginx(
    _ fault: String,
    _ end: FaultEnd = .downloaded,
    http2: Bool = true,
    asksClients: Bool = false,
    trusts: Authority = .its,
    shows: Authority? = nil,
    _ further: @escaping @Sendable (FaultScene) -> Void = { _ in }
  ) -> FaultRow {
    FaultRow("network", "TLS: \(fault)", end) { scene in
      let certificates = try await Certificates.shared.value
      let others = try await Certificates.others.value
      let folder = TemporaryDirectory()
      folder.write(SampleImages.jpeg(9), to: "fault.jpg")
      let nginx = try await Nginx(
        serving: folder.path,
        directives: http2 ? "if ($server_protocol != \"HTTP/2.0\") { return 505; }" : "",
        tls: .init(certificates, offersHTTP2: http2, verifiesClients: asksClients)
      )
      scene.kept += [folder, nginx]
      scene.urls.append(nginx.url("/fault.jpg"))
      if trusts != .theSystems {
        let trusted = trusts == .its ? certificates : others
        scene.set("request.tls.ca-file=\(trusted.authority)")
      }
      if let shows {
        let shown = shows == .its ? certificates : others
        scene.set("request.tls.client-certificate=\(shown.client)")
        scene.set("request.tls.client-key=\(shown.clientKey)")
      }
      further(scene)
    }
  }
}

extension Certificates {
  /// Certificates of all servers of the table, and untrusted ones; shared since making them takes a while.
  static let shared = Task { try await Certificates() }
  static let others = Task { try await Certificates() }
}

extension FaultRow {
  /// Servers that reset streams and close connections of HTTP/2 (RFC 9113).
  static let http2: [FaultRow] = [
    .http2("refuses the first stream", connections: [1, 2]) {
      $0.sequence == 1 ? [.reset($0.stream, code: HTTP2Origin.refusedStream)] : answer($0)
    },
    .http2("refuses every stream", .failed("reset", "closed the connection")) {
      [.reset($0.stream, code: HTTP2Origin.refusedStream)]
    },
    .http2("goes away before the first response", connections: [1, 2], attempts: 2) {
      $0.sequence == 1 ? [.goAway(last: 0)] : answer($0)
    },
    .http2("goes away between two responses", connections: [1, 1, 2], attempts: 3, urls: 2) {
      $0.sequence == 2 ? [.goAway(last: 1)] : answer($0)
    },
    .http2("goes away after the response's start", connections: [1]) { request in
      [
        .head(request.stream, length: image.count), .data(request.stream, Array(image.prefix(100))),
        .goAway(last: request.stream),
      ]
        + [.data(request.stream, Array(image.dropFirst(100)), ends: true)]
    },
    .http2("resets a stream midway", .failed("reset", "closed the connection")) { request in
      [.head(request.stream, length: image.count), .data(request.stream, [1, 2])]
        + [.reset(request.stream, code: HTTP2Origin.internalError)]
    },
    .http2("closes midway", .failed("truncated", "the body ended after 2 of")) { request in
      [.head(request.stream, length: image.count), .data(request.stream, [0xFF, 0xD8]), .close]
    },
    .http2("ends half an image without a length", .failed("truncated", "before the end of the image")) { request in
      [.head(request.stream), .data(request.stream, Array(image.prefix(1500)), ends: true)]
    },
    .http2("sends less than declared", .failed("reset", "closed the connection")) { request in
      [.head(request.stream, length: image.count), .data(request.stream, Array(image.dropLast()), ends: true)]
    },
    FaultRow(
      "server",
      "HTTP/2 to a server of HTTP/1.1 only",
      .failed("connect", "may not support HTTP/2"),
      keys: "request: {retries: 0, http: 2}",
      arrange: { $0.add(.good) }
    ),
  ]

  private static let image = SampleImages.jpeg(9, padding: 3000)

  private static let hasty = "backoff: {initial: 1ms, maximum: 2ms}"

  private static func answer(_ request: HTTP2Origin.Request) -> [HTTP2Origin.Frame] {
    HTTP2Origin.Frame.answer(request.stream, image)
  }

  private static func http2(
    _ fault: String,
    _ end: FaultEnd = .downloaded,
    connections: [Int]? = nil,
    attempts: Int = 1,
    urls: Int = 1,
    _ respond: @escaping @Sendable (HTTP2Origin.Request) -> [HTTP2Origin.Frame]
  ) -> FaultRow {
    let retries = end.kind == nil ? 1 : 0
    let keys = "request: {retries: \(retries), \(hasty), http: 2}\nprefetch: {concurrency: 1}"
    return FaultRow("server", "HTTP/2: \(fault)", end, keys: keys) { scene in
      let certificates = try await Certificates.shared.value
      let origin = scene.keep(HTTP2Origin(certificates, respond))
      scene.set("request.tls.ca-file=\(certificates.authority)")
      scene.urls += (1...urls).map { origin.url("/\($0).jpg") }
    } check: { scene, run in
      // A refused stream is repeated as the same attempt, without counting; one cancelled by a GOAWAY as a retry.
      guard let connections else { return }
      let asked = scene.kept.compactMap { $0 as? HTTP2Origin }.first?.requests.map(\.connection)
      #expect(asked == connections)
      #expect(run.attempts("total") == attempts)
    }
  }
}

extension FaultRow {
  /// Proxies, and their refusals.
  static let detours: [FaultRow] = [
    .proxy("requires a password", "it responded with 407 Proxy", refusal: "407 Proxy Authentication Required"),
    .proxy("cannot reach the server", "it responded with 502 Bad Gateway", refusal: "502 Bad Gateway"),
    .proxy("forbids it", "it responded with 403 Forbidden", refusal: "403 Forbidden"),
    .proxy("is down", "Connection refused", isThere: false),
    .proxy("of SOCKS is down", "through the proxy", scheme: "socks5h", isThere: false),
    .proxy(
      "of SOCKS cannot reach the server",
      "the proxy cannot connect to 127.0.0.1:",
      scheme: "socks5",
      to: "http://127.0.0.1:1"
    ),
    .network("a proxy whose name is unknown", "dns", "the name of the proxy could not be resolved") { scene in
      scene.environment["LD_PRELOAD"] = Preload.resolver.path
      scene.set("request.proxy=http://proxy.none:3128")
      return "http://image.test/fault.jpg"
    },
    .network("a proxy of the environment that is down", "connect", "or the proxy of the environment: Connection refused") {
      scene in
      let port = scene.keep(RefusedPort())
      scene.environment["http_proxy"] = port.url("/")
      scene.set("request.proxy=environment")
      return "http://image.test/fault.jpg"
    },
  ]

  private static func proxy(
    _ fault: String,
    _ says: String,
    scheme: String = "http",
    refusal: String? = nil,
    isThere: Bool = true,
    to server: String = "https://image.test"
  ) -> FaultRow {
    .network("a proxy \(fault)", "connect", says) { scene in
      let (proxy, closed) = (TestProxy(refusal: refusal), RefusedPort())
      scene.kept += [proxy, closed]
      scene.set("request.proxy=\(scheme)://127.0.0.1:\(isThere ? proxy.port : closed.port)")
      return "\(server)/fault.jpg"
    }
  }
}

private let publicOnly = "request: {retries: 0, addresses: public}"

extension FaultRow {
  /// Internal addresses in many disguises.
  static let addresses: [FaultRow] =
    [
      ("127.0.0.1", "itself"), ("2130706433", "as one number"), ("0177.0.0.1", "in octal"), ("0x7f.1", "in hexadecimal"),
      ("[::ffff:127.0.0.1]", "mapped to IPv6"), ("localhost", "by name"),
    ].map { host, form in
      refused("a loopback address, \(form)") { scene in "http://\(host):\(scene.others[0].port)/a.jpg" }
    } + [
      refused("a private address") { _ in "http://10.0.0.1/a.jpg" },
      refused("the address of a cloud's metadata") { _ in "http://169.254.169.254/latest/meta-data/a.jpg" },
      refused("a name with a private address", names: "inner.test=192.168.1.1") { _ in "http://inner.test/a.jpg" },
      refused("a name that resolves to a public, then to a loopback address", names: "rebind.test=11.1.1.1;127.0.0.1") { scene in
        // A different port needs another lookup.
        scene.urls.append("http://rebind.test:\(scene.others[0].ports[1])/outer.jpg")
        scene.options += ["--concurrency", "1"]
        return "http://rebind.test:\(scene.others[0].port)/a.jpg"
      },
      refused("a name that resolves to a loopback address after a redirect", names: "turns.test=11.1.1.1;127.0.0.1") { scene in
        let ports = scene.others[0].ports
        scene.others[0].set("/to.jpg", .redirect(to: "http://turns.test:\(ports[0])/a.jpg"))
        return "http://turns.test:\(ports[1])/to.jpg"
      },
      refused("a public host that redirects to a loopback address", names: "outer.test=11.1.1.1") { scene in
        let ports = scene.others[0].ports
        scene.others[0].set("/to.jpg", .redirect(to: "http://127.0.0.1:\(ports[0])/a.jpg"))
        return "http://outer.test:\(ports[1])/to.jpg"
      },
      refused("an edge at a loopback address", keys: "cache: {mode: bypass}") { scene in
        scene.urls = []
        scene.set("request.edges={inner: '127.0.0.1:\(scene.others[0].port)'}")
        return "http://outer.test/a.jpg"
      },
    ]

  /// An inner server. Its first port must never be reached; its second one is a public address.
  private static func refused(
    _ fault: String,
    keys: String = "",
    names: String? = nil,
    _ make: @escaping @Sendable (FaultScene) -> String
  ) -> FaultRow {
    let end = FaultEnd.failed("refused-address", "which isn't a public address")
    return FaultRow("network", "\(fault), if only public addresses are allowed", end, keys: "\(publicOnly)\n\(keys)") { scene in
      scene.others.append(try Origin(["/outer.jpg": .good], addresses: [.ipv4, .ipv4]))
      if let names {
        scene.environment["LD_PRELOAD"] = Preload.chosenAddresses.path
        scene.environment["PREWARM_TEST_RESOLVER"] = names
      }
      scene.urls.append(make(scene))
    } check: { scene, _ in
      let origin = scene.others[0]
      #expect(!origin.requests.contains { $0.port == origin.ports[0] }, "the inner server got requests: \(origin.requests)")
      let isOuter = scene.urls.contains { $0.contains(":\(origin.ports[1])/") }
      #expect(origin.requests.count == (isOuter ? 1 : 0), "\(origin.requests)")
    }
  }
}
