import TestOrigin
import TestSupport
import Testing

/// Many URLs of several hosts, of which one in fifty is broken, in twelve ways.
@Suite struct TwelveKindsTests {
  private static let ways: [(title: String, behaviour: Behaviour)] = [
    ("404 Not Found", .status(404)), ("410 Gone", .status(410)), ("403 Forbidden", .status(403)),
    ("503 Service Unavailable", .status(503)),
    ("not an image", .body(Array("<html><body>sorry</body></html>".utf8), type: "image/jpeg")),
    ("empty body", .body([], type: "image/jpeg")),
    ("undecodable", .body(Array(SampleImages.jpeg(1).prefix(30)), type: "image/jpeg")),
    ("cut body", .cut(afterBytes: 100, declared: 5000, of: SampleImages.jpeg(1), type: "image/jpeg")),
    ("content type", .body(SampleImages.jpeg(1), type: "image/png")), ("redirects", .redirect(to: "/bad/9/0.jpg")),
    ("bytes out of bounds", .body(SampleImages.jpeg(1) + [UInt8](repeating: 0, count: 70_000), type: "image/jpeg")),
  ]
  /// What is no URL is the twelfth.
  private static let titles = ways.map(\.title) + ["invalid URL"]

  /// Bad URLs stand between good ones; half of them are of the second host.
  private func makeManifest(_ origin: Origin, count: Int, hosts: Int) -> [String] {
    (0..<count).map { number in
      guard number % 50 == 49 else { return origin.url("/images/\(number).jpg", host: number % hosts) }
      let (round, way) = (number / 50).quotientAndRemainder(dividingBy: Self.titles.count)
      if way == Self.ways.count { return "ftp://img.example.com/\(round).jpg" }
      return origin.url("/bad/\(way)/\(round).jpg", host: round % 2 == 0 ? 1 : way % hosts)
    }
  }

  @Test("twelve kinds and the worst host stand on the first screen", arguments: ["run", "check"])
  func theFirstScreenShowsAllKindsAndTheWorstHost(command: String) async throws {
    let (count, hosts) = (max(1200, SoakCounts.images), 5)
    let origin = try Origin(addresses: Array(repeating: .ipv4, count: hosts))
    let ways = Self.ways.map(\.behaviour)
    origin.setFallback { request in
      let parts = request.path.split(separator: "/")
      guard parts.first == "bad" else { return .body(SampleImages.jpeg(7), type: "image/jpeg") }
      return ways[Int(parts[1]) ?? 0]
    }
    let job = JobFolder(
      urls: makeManifest(origin, count: count, hosts: hosts),
      keys: "request: {retries: 0, redirects: 3}\nverify: {bytes: {max: 60000}}\ncache: {mode: bypass}"
    )
    let result = try await job.prewarm(command, "job.yaml", "--progress", "none")
    #expect(result.status == 2, "\(result.errorText)")
    let screen = result.outputText.split(separator: "\n", omittingEmptySubsequences: false).prefix(24)
    let text = screen.joined(separator: "\n")
    for title in Self.titles { #expect(screen.contains { $0.hasPrefix("  \(title) ") }, "no \(title) in\n\(text)") }
    #expect(screen.contains { $0.hasPrefix("Failures ") && $0.contains("worst: 127.0.0.1:\(origin.ports[1]), ") }, "\(text)")
    #expect(screen.allSatisfy { $0.count <= 80 })
    let digits = result.outputText.replacing(",", with: "")
    #expect(digits.contains("\(count / 50) bad: more than fail-on.failures (0)"), "\(text)")
  }
}
