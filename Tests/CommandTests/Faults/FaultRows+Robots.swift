import TestOrigin
import TestSupport
import Testing

extension FaultRow {
  /// Hosts whose robots.txt disallows requests, or is unavailable (RFC 9309).
  static let robots: [FaultRow] = [
    robots("robots.txt forbids it", .body(Array("User-agent: *\nDisallow: /fault\n".utf8), type: "text/plain"), "disallows it"),
    robots("robots.txt answers 503", .status(503), "couldn't be fetched"),
    robots("robots.txt breaks off", .reset, "couldn't be fetched", kind: "reset"),
    robots("robots.txt is not there", .status(404)),
    robots("robots.txt redirects to itself", .redirect(to: "/robots.txt")),
    robots("robots.txt is an HTML page", .body(Array("<!doctype html><p>Disallow: /fault".utf8), type: "text/html")),
    robots("robots.txt is 20 MB of one line", .body([UInt8](repeating: 0x61, count: 20_000_000), type: "text/plain")),
  ]

  private static func robots(_ fault: String, _ behaviour: Behaviour, _ says: String? = nil, kind: String = "robots") -> FaultRow
  {
    FaultRow(
      part: "server",
      fault: fault,
      keys: "request: {retries: 0, robots: respect}",
      outcome: says == nil ? "downloaded" : "failed",
      kind: says == nil ? nil : kind,
      exit: says == nil ? 0 : 2,
      says: says ?? ""
    ) { scene in
      scene.origin.set("/robots.txt", behaviour)
      scene.add(.good)
    } check: { scene, _ in
      #expect(scene.origin.count(of: "/robots.txt") >= 1)
      #expect(scene.origin.count(of: "/fault.jpg") == (says == nil ? 1 : 0))
    }
  }
}
