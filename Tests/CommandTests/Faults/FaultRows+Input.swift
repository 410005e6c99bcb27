import Foundation
import TestOrigin
import TestSupport
import Testing

extension FaultRow {
  /// Invalid files and lines.
  static let input: [FaultRow] = [
    .input("invalid YAML", .ended(3, "job.yaml:3:1: while parsing")) {
      $0.job.folder.write("version: 1\nname: [\n", to: "job.yaml")
    },
    .input("an unknown key", .ended(3, "manifests")) {
      $0.job.writeJob("manifest: [{path: urls.txt}]")
    },
    .input("an empty job", .ended(3, "job.yaml")) { $0.job.folder.write("", to: "job.yaml") },
    .input("a missing job", .ended(3, "job.yaml")) { unlink($0.job.folder.file("job.yaml")) },
    .input("a binary job", .ended(3, "job.yaml")) { $0.job.folder.write(Array(0...255), to: "job.yaml") },
    .input("a YAML bomb", .ended(3, "job.yaml")) { $0.job.folder.write(yamlBomb, to: "job.yaml") },
    .manifest("a missing manifest", .ended(3, "cannot")) { unlink($0.job.folder.file("urls.txt")) },
    .manifest("a manifest that is a folder", .ended(3, "urls.txt")) { scene in
      unlink(scene.job.folder.file("urls.txt"))
      mkdir(scene.job.folder.file("urls.txt"), 0o755)
    },
    .manifest("an empty manifest", .ended(2)) { $0.job.folder.write("", to: "urls.txt") },
    .manifest("a truncated gzip manifest", .ended(1, "urls.txt.gz")) { scene in
      scene.job.write(urls: (0..<5000).map { scene.origin.url("/missing-\($0).jpg") })
      _ = try await Command("/bin/gzip", [scene.job.folder.file("urls.txt")]).wait()
      let whole = scene.job.folder.read("urls.txt.gz") ?? []
      scene.job.folder.write(whole.dropLast(whole.count - 100), to: "urls.txt.gz")
      scene.set("manifests=[{path: urls.txt.gz}]")
    },
    .manifest("a manifest of binary data", .ended(3, "binary")) {
      $0.job.folder.write([0x00, 0x01, 0xfe, 0xff, 0x0a], to: "urls.txt")
    },
    FaultRow(
      "input",
      "standard input without a final newline",
      .failed("invalid-url", "no scheme"),
      arrange: { $0.set("manifests=[{path: '-'}]") },
      run: { try await $0.start(input: .bytes(Array("\($0.stored[0])\nhtt".utf8))).wait() }
    ),
    .line("a line that isn't a URL", "not a url", says: "isn't a URL or a path"),
    .line("a URL without a host", "http://", says: "no host"),
    .line("another scheme", "ftp://127.0.0.1/a.jpg", says: "neither http nor https"),
    .line("a scheme that reads files", "file:///etc/passwd", says: "neither http nor https"),
    .line("an invalid port", "http://127.0.0.1:99999/a.jpg", says: "the port isn't a number"),
    .line("a host with a space", "http://exa mple/a.jpg", says: "words after the URL"),
    .line("a line of 1 MB", "http://127.0.0.1/" + String(repeating: "a", count: 1_000_000), says: "longer than 65536 bytes"),
    .line("control characters", "http://127.0.0.1/a\u{1}\u{1B}[31m.jpg", says: "words after the URL"),
    .input("invalid JSON Lines", .failed("invalid-url", "neither an object nor a string")) { scene in
      scene.urls = []
      scene.job.folder.write("{\"url\": \n[1,2\n", to: "urls.jsonl")
      scene.set("manifests=[{path: urls.jsonl}]")
    },
  ]

  /// A line of the manifest that can't be fetched.
  private static func line(_ fault: String, _ line: String, says: String) -> FaultRow {
    .input(fault, .failed("invalid-url", says)) { $0.urls.append(line) }
  }

  /// A manifest that can't be read; nothing else is added to it.
  private static func manifest(_ fault: String, _ end: FaultEnd, _ arrange: @escaping FaultScript) -> FaultRow {
    .input(fault, end) { scene in
      scene.urls = []
      try await arrange(scene)
    }
  }

  /// Aliases of aliases: ten to the power of nine names.
  private static let yamlBomb =
    "version: 1\nname: bomb\na0: &a0 [x]\n"
    + (1...9).map { "a\($0): &a\($0) [\(Array(repeating: "*a\($0 - 1)", count: 10).joined(separator: ", "))]\n" }.joined()
    + "manifests: *a9\n"
}

extension FaultRow {
  /// Sitemaps that are unreachable, invalid, or malicious.
  static let sitemaps: [FaultRow] = [
    sitemap("a sitemap that is not there", "the server responded with 404 Not Found", .status(404)),
    sitemap("a sitemap whose server is gone", "Connection refused") { scene in
      let port = scene.keep(RefusedPort())
      return port.url("/sitemap.xml")
    },
    sitemap("a sitemap that breaks off on the way", "closed the connection", .reset),
    sitemap("a sitemap of broken XML", "the XML is broken", downloads: 1) { scene in
      serve(scene, "<urlset>\(entry(scene))<url><loc>http://127.0.0.1/b.jpg</lo")
    },
    sitemap("a sitemap that is an HTML page", "its first element is <html>", .text("<html><body/></html>")),
    sitemap("an empty sitemap", "it is empty", .body([], type: "application/xml")),
    sitemap("a sitemap with an entity bomb", "declares entities") { serve($0, bomb) },
    sitemap("a sitemap with an entity that names a file", "declares entities") { scene in
      serve(
        scene,
        "<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><urlset><url><loc>http://h/&e;.jpg</loc></url></urlset>"
      )
    },
    sitemap("a sitemap that is a decompression bomb", "expands more than") { scene in
      let folder = TemporaryDirectory()
      let script = "(echo '<urlset>'; head -c 80000000 /dev/zero | tr '\\0' ' ') | gzip -9 > \(folder.file("sitemap.xml.gz"))"
      _ = try await Command("/bin/sh", ["-c", script]).wait()
      scene.origin.set("/sitemap.xml.gz", .body(folder.read("sitemap.xml.gz") ?? [], type: "application/gzip"))
      return scene.origin.url("/sitemap.xml.gz")
    },
    sitemap("an index that names a missing sitemap", "404 Not Found", downloads: 1) { scene in
      serve(scene, index(["/gone.xml", "/child.xml"].map { scene.origin.url($0) }))
    },
    sitemap("an index that names itself", "", exit: 0, downloads: 1) { scene in
      serve(scene, index(["/sitemap.xml", "/child.xml", "/sitemap.xml"].map { scene.origin.url($0) }))
    },
    sitemap("endless indexes", "nested more than 3 levels deep") { scene in
      scene.origin.setFallback { .text(index(["\($0.path)/a.xml"]), type: "application/xml") }
      return scene.origin.url("/endless.xml")
    },
    sitemap("an index with an invalid URL", "with an invalid URL", downloads: 1) { scene in
      serve(scene, index(["ftp://nowhere/", scene.origin.url("/child.xml")]))
    },
    sitemap("a sitemap that redirects to a file", "neither http nor https", .redirect(to: "file:///etc/passwd")),
  ]

  /// Invalid access logs.
  static let logs: [FaultRow] = [
    log("an access log of garbage", .ended(2, "3 lines aren't in a known log format"), "garbage\n\u{1}\u{2}\n\n[\"\n"),
    log(
      "an access log without successful requests",
      .ended(2, "no successful GET of an image"),
      line.replacing("200", with: "404")
    ),
    log("an access log without base-url", .ended(1, "set base-url"), line, base: ""),
    log("an access log with a line of 1 MB", .downloaded, String(repeating: "a", count: 1_000_000) + "\n" + line),
    .input("a truncated gzip access log", .ended(1, "the gzip data is truncated")) { scene in
      scene.job.folder.write(String(repeating: line, count: 5000), to: "access.log")
      _ = try await Command("/bin/gzip", [scene.job.folder.file("access.log")]).wait()
      scene.job.folder.write((scene.job.folder.read("access.log.gz") ?? []).dropLast(20), to: "access.log.gz")
      scene.set("manifests=[{path: access.log.gz, format: combined, base-url: '\(scene.origin.base)'}]")
    },
  ]

  private static let line = "127.0.0.1 - - [21/Nov/2026:10:00:00 +0000] \"GET /fault.jpg HTTP/1.1\" 200 5 \"-\" \"x\"\n"

  private static func log(_ fault: String, _ end: FaultEnd, _ text: String, base: String? = nil) -> FaultRow {
    .input(fault, end) { scene in
      scene.origin.set("/fault.jpg", .good)
      scene.job.folder.write(text, to: "access.log")
      let base = base ?? ", base-url: '\(scene.origin.base)'"
      scene.set("manifests=[{path: access.log, format: combined\(base)}]")
    }
  }

  private static func index(_ urls: [String]) -> String {
    "<sitemapindex>\(urls.map { "<sitemap><loc>\($0)</loc></sitemap>" }.joined())</sitemapindex>"
  }

  private static func entry(_ scene: FaultScene) -> String { "<url><loc>\(scene.origin.url("/fault.jpg"))</loc></url>" }

  /// Serves the sitemap, and a good one beside it.
  private static func serve(_ scene: FaultScene, _ text: String) -> String {
    scene.origin.set("/sitemap.xml", .text(text, type: "application/xml"))
    scene.origin.set("/child.xml", .text("<urlset>\(entry(scene))</urlset>", type: "application/xml"))
    return scene.origin.url("/sitemap.xml")
  }

  private static let bomb: String = {
    let entities = (1...9).map { "<!ENTITY e\($0) \"\(String(repeating: "&e\($0 - 1);", count: 10))\">" }.joined()
    return "<!DOCTYPE x [<!ENTITY e0 \"a\">\(entities)]><urlset><url><loc>http://h/&e9;.jpg</loc></url></urlset>"
  }()

  private static func sitemap(_ fault: String, _ says: String, _ behaviour: Behaviour) -> FaultRow {
    sitemap(fault, says) { scene in
      scene.origin.set("/sitemap.xml", behaviour)
      return scene.origin.url("/sitemap.xml")
    }
  }

  /// A fetched manifest beside a local one; images that it names before or beside the fault are loaded.
  private static func sitemap(
    _ fault: String,
    _ says: String,
    exit: Int = 1,
    downloads: Int = 0,
    _ make: @escaping @Sendable (FaultScene) async throws -> String
  ) -> FaultRow {
    FaultRow("input", fault, downloads > 0 ? .downloaded(exit: exit, says) : .ended(exit, says)) { scene in
      scene.origin.set("/fault.jpg", .good)
      let url = try await make(scene)
      scene.set("manifests=[{path: urls.txt}, {url: '\(url)', format: sitemap}]")
    } check: { scene, run in
      #expect(run.totals["downloaded"] == downloads && run.totals["hit_disk"] == 2, "\(run.totals)")
      #expect(run.report["manifests_read"] as? Bool == (exit == 0))
    }
  }
}

extension FaultRow {
  /// Hosts whose robots.txt disallows requests, or is unavailable (RFC 9309).
  static let robots: [FaultRow] = [
    robots("robots.txt forbids it", .text("User-agent: *\nDisallow: /fault\n", type: "text/plain"), "disallows it"),
    robots("robots.txt answers 503", .status(503), "couldn't be fetched"),
    robots("robots.txt breaks off", .reset, "couldn't be fetched", kind: "reset"),
    robots("robots.txt is not there", .status(404)),
    robots("robots.txt redirects to itself", .redirect(to: "/robots.txt")),
    robots("robots.txt is an HTML page", .text("<!doctype html><p>Disallow: /fault")),
    robots("robots.txt is 20 MB of one line", .body([UInt8](repeating: 0x61, count: 20_000_000), type: "text/plain")),
  ]

  private static func robots(_ fault: String, _ behaviour: Behaviour, _ says: String? = nil, kind: String = "robots") -> FaultRow
  {
    let end = says.map { FaultEnd.failed(kind, $0) } ?? .downloaded
    return FaultRow("server", fault, end, keys: "request: {retries: 0, robots: respect}") { scene in
      scene.origin.set("/robots.txt", behaviour)
      scene.add(.good)
    } check: { scene, _ in
      #expect(scene.origin.count(of: "/robots.txt") >= 1)
      #expect(scene.origin.count(of: "/fault.jpg") == (says == nil ? 1 : 0))
    }
  }
}
