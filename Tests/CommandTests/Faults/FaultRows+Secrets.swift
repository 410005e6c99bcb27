import Foundation
import TestOrigin
import TestSupport
import Testing

/// A secret that must only reach its own server.
private let secret = "hunter2"

extension FaultRow {
  /// Secrets that might leak, and lines that might inject requests.
  static let secrets: [FaultRow] = [
    FaultRow(
      "server",
      "redirects to another host, with the job's headers, password and cookie",
      .downloaded,
      keys: """
        request:
          retries: 0
          headers: {X-Token: \(secret)}
          auth: {username: alice, password-env: PASSWORD}
          cookies: true
        prefetch: {concurrency: 1}
        """
    ) { scene in
      // Cookies ignore ports, so it has another address.
      let origin = try Origin(addresses: [.ipv4, .ipv6])
      scene.others.append(origin)
      scene.environment["PASSWORD"] = secret
      origin.set("/own.jpg", .jpeg(7, headers: ["Set-Cookie": "id=\(secret); Path=/"]))
      origin.set("/fault.jpg", .redirect(to: origin.url("/other.jpg", host: 1)))
      origin.set("/other.jpg", .redirect(to: origin.url("/back.jpg")))
      origin.set("/back.jpg", .good)
      scene.urls += ["/own.jpg", "/fault.jpg"].map { origin.url($0) }
    } check: { scene, run in
      let fields = ["X-Token", "Authorization", "Cookie"]
      let sent = scene.others[0].requests.map { request in fields.filter { request.headers[$0] != nil }.joined(separator: " ") }
      #expect(sent == ["X-Token Authorization", fields.joined(separator: " "), "", fields.joined(separator: " ")], "\(sent)")
      #expect(scene.job.places(of: [secret], run.result) == [])
    },
    .withSecret("a URL with a password", .failed("http-status", "404 Not Found"), keys: "request: {retries: 0}") { scene in
      scene.urls.append(scene.origin.url("/gone.jpg").replacing("http://", with: "http://alice:\(secret)@"))
    },
    .withSecret(
      "a redirect to a URL with a password",
      .failed("redirects", "more than 1 redirects"),
      keys: "request: {retries: 0, redirects: 1}"
    ) { scene in
      let there = scene.origin.url("/there.jpg").replacing("http://", with: "http://alice:\(secret)@")
      scene.origin.set("/there.jpg", .redirect(to: "http://bob:\(secret)@127.0.0.1/further.jpg"))
      scene.add(.redirect(to: there))
    },
    .withSecret(
      "a redirect to an invalid URL with a password",
      .failed("redirects", "the port isn't a number"),
      keys: "request: {retries: 0}"
    ) { $0.add(.redirect(to: "http://alice:\(secret)@127.0.0.1:99999/")) },
    .withSecret(
      "an invalid URL with a password",
      .failed("invalid-url", "neither http nor https")
    ) { $0.urls.append("ftp://alice:\(secret)@127.0.0.1/a.jpg") },
    .withSecret("a proxy with a password that is down", .failed("connect", "through the proxy")) { scene in
      let port = scene.keep(RefusedPort())
      scene.add(.good)
      scene.set("request.proxy=http://bob:\(secret)@127.0.0.1:\(port.port)")
    },
    FaultRow("input", "a URL with a line break followed by a header", .failed("http-status", "404 Not Found")) { scene in
      let line = scene.origin.url("/fault.jpg HTTP/1.1\r\nX-Injected: 1\r\nX: ")
      scene.job.folder.write("url\n\"\(line)\"\n", to: "urls.csv")
      scene.set("manifests=[{path: urls.txt}, {path: urls.csv}]")
    } check: { scene, _ in
      // Browsers drop the line break, too.
      #expect(scene.origin.requests.allSatisfy { $0.headers["X-Injected"] == nil }, "\(scene.origin.requests)")
    },
    FaultRow("input", "a URL with an encoded line break followed by a header", .failed("http-status", "404")) { scene in
      scene.urls.append(scene.origin.url("/fault.jpg%20HTTP/1.1%0d%0aX-Injected:%201"))
    } check: { scene, _ in
      let last = scene.origin.requests.last
      #expect(last?.target.lowercased() == "/fault.jpg%20http/1.1%0d%0ax-injected:%201", "\(last as Any)")
      #expect(last?.headers["X-Injected"] == nil && scene.origin.requests.count == 1, "\(last as Any)")
    },
    .input("a header with a line break", .ended(3, "without control characters")) {
      $0.job.writeJob("request: {headers: {X-A: \"a\\r\\nX-Injected: 1\"}}")
    },
    .input("a password whose variable isn't set", .ended(3, "environment variable not set")) {
      $0.set("request.auth={username: alice, password-env: PASSWORD}")
    },
  ]

  /// A fault with a secret that is in no output and no file.
  private static func withSecret(_ fault: String, _ end: FaultEnd, keys: String = "", _ arrange: @escaping FaultScript)
    -> FaultRow
  {
    FaultRow("input", fault, end, keys: keys) { scene in
      scene.options += ["--verbose", "--report", "text=report.txt"]
      try await arrange(scene)
    } check: {
      #expect($0.job.places(of: [secret], $1.result) == [])
    }
  }
}
