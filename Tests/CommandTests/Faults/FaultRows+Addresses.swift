import TestOrigin
import TestSupport
import Testing

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
        scene.options += ["--set", "request.edges={inner: '127.0.0.1:\(scene.others[0].port)'}"]
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
    FaultRow(
      part: "network",
      fault: "\(fault), if only public addresses are allowed",
      keys: "\(publicOnly)\n\(keys)",
      outcome: "failed",
      kind: "refused-address",
      exit: 2,
      says: "which isn't a public address"
    ) { scene in
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
