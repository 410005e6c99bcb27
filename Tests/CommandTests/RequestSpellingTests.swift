import TestOrigin
import TestSupport
import Testing

/// URLs are requested as browsers request them, so that caches that distinguish spellings are warmed for visitors.
@Suite struct RequestSpellingTests {
  /// Paths as lists write them, and the targets that browsers request (WHATWG URL Standard, section 4.4).
  private static let spellings: [(written: String, target: String)] =
    [
      "/caf%c3%a9.jpg", "/caf%C3%A9.jpg", "/a%2cb.jpg", "/%7Eu.jpg", "/~u.jpg", "/a%2Db.jpg", "/%61.jpg", "/s.jpg?u=x%2fy",
      "/bare.jpg?", "/bare.jpg", "/two.jpg??", "/two.jpg?&", "/v;a=1;b.jpg", "/p+q.jpg?r+s", "/d...e.jpg", "/...",
      "/%252e%2e.jpg",
      "//f.jpg", "/g//h.jpg", "/i'j|k[1].jpg?l[]={m}^`|\\", "/n!$&(),*=:@.jpg",
    ].map { ($0, $0) } + [
      ("/o p.jpg?q", "/o%20p.jpg?q"), ("/é.jpg?é", "/%C3%A9.jpg?%C3%A9"),
      ("/\"<>^`{}.jpg?\"<>'", "/%22%3C%3E%5E%60%7B%7D.jpg?%22%3C%3E%27"), ("/s/./t/../u.jpg", "/s/u.jpg"),
      ("/s/%2e/t/%2E./v.jpg", "/s/v.jpg"), ("/w\\x.jpg", "/w/x.jpg"), ("/y.jpg#z?", "/y.jpg"),
    ]
  /// Targets that nginx rejects.
  private static let undecodable = [("/100%.jpg", "/100%.jpg"), ("/%zz.jpg?%", "/%zz.jpg?%")]

  private func origin() throws -> Origin {
    try Origin(fallback: .jpeg(1, headers: ["Cache-Control": "max-age=600"]))
  }

  /// Kinds of sources, each with what it makes from URLs.
  private static let sources: [(path: String, type: String, text: @Sendable ([String]) -> String)] = [
    ("/urls.txt", "text/plain", { $0.joined(separator: "\n") }),
    ("/page", "text/html; charset=utf-8", { $0.map { "<img src=\"\(escaped($0))\">" }.joined() }),
    (
      "/sitemap.xml", "application/xml",
      { urls in
        let images = urls.map { "<image:image><image:loc>\(escaped($0))</image:loc></image:image>" }.joined()
        return """
          <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
           xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>http://127.0.0.1/</loc>\(images)</url></urlset>
          """
      }
    ),
    (
      "/urls.jsonl", "application/jsonl",
      { $0.map { "\"\($0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"\n" }.joined() }
    ),
  ]

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }

  @Test(arguments: sources.indices)
  func `each spelling is requested as browsers do, from each kind of source`(index: Int) async throws {
    let all = Self.spellings + Self.undecodable
    let (origin, source) = (try origin(), Self.sources[index])
    origin.set(source.path, .body(Array(source.text(all.map { origin.base + $0.written }).utf8), type: source.type))
    let result = try await JobFolder(urls: []).prewarm("check", origin.url(source.path))
    #expect(result.status == 0, "\(result.outputText)")
    #expect(origin.requests.map(\.target).sorted() == (all.map(\.target) + [source.path]).sorted())
  }

  @Test func `each spelling is requested as browsers do after a redirect`() async throws {
    let all = Self.spellings + Self.undecodable
    let origin = try origin()
    for (index, spelling) in all.enumerated() where !spelling.written.contains("é") {
      origin.set("/from/\(index)", .redirect(to: origin.base + spelling.written))
    }
    let result = try await JobFolder(urls: all.indices.map { origin.url("/from/\($0)") }).prewarm("check urls.txt")
    #expect(result.status == 0, "\(result.outputText)")
    let targets = origin.requests.map(\.target).filter { !$0.hasPrefix("/from/") }
    #expect(targets.sorted() == all.map { $0.written.contains("é") ? "" : $0.target }.filter { !$0.isEmpty }.sorted())
  }

  @Test func `after a run, a caching server hits for a client that asks as visitors do`() async throws {
    let origin = try origin()
    let folder = TemporaryDirectory()
    let nginx = try await Nginx(
      serving: folder.path,
      directives: """
        location / {
          proxy_pass \(origin.base);
          proxy_cache images;
          add_header X-Cache-Status $upstream_cache_status always;
        }
        """,
      httpDirectives: "proxy_cache_path cache keys_zone=images:1m;"
    )
    let job = JobFolder(urls: Self.spellings.map { nginx.base + $0.written })
    #expect(try await job.prewarm("run job.yaml").status == 0)
    #expect(origin.requests.map(\.target).sorted() == Self.spellings.map(\.target).sorted())
    let visits = Self.spellings.flatMap { ["-o", "/dev/null", nginx.base + $0.target] }
    let visitor = try Command("/usr/bin/curl", ["-gsS", "--path-as-is", "-w", "%header{x-cache-status}\n"] + visits)
    #expect(try await visitor.wait().outputText == String(repeating: "HIT\n", count: Self.spellings.count))
    #expect(origin.requests.count == Self.spellings.count)
  }
}
