import TestOrigin
import TestSupport

extension FaultRow {
  /// Proxies, and their refusals.
  static let detours: [FaultRow] = [
    .proxy(
      "requires a password",
      "it responded with 407 Proxy Authentication Required",
      refusal: "407 Proxy Authentication Required"
    ),
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
      scene.options += ["--set", "request.proxy=http://proxy.none:3128"]
      return "http://image.test/fault.jpg"
    },
    .network("a proxy of the environment that is down", "connect", "or the proxy of the environment: Connection refused") {
      scene in
      let port = RefusedPort()
      scene.kept.append(port)
      scene.environment["http_proxy"] = port.url("/")
      scene.options += ["--set", "request.proxy=environment"]
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
      scene.options += ["--set", "request.proxy=\(scheme)://127.0.0.1:\(isThere ? proxy.port : closed.port)"]
      return "\(server)/fault.jpg"
    }
  }
}
