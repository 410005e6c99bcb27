import Foundation
import TestOrigin
import TestSupport
import Testing

/// The curl lines of reports repeat the exact requests of the run.
@Suite struct CurlRepetitionTests {
  /// The parts of a request that the client chooses.
  private struct Said: Equatable, CustomStringConvertible {
    let method: String
    let target: String
    let headers: [String]
    let port: Int

    /// - Parameter masked: fields whose values are masked in reports, so that they differ.
    init(_ request: RecordedRequest, masked: Set<String> = []) {
      method = request.method
      target = request.target
      port = request.port
      headers = request.headers.fields
        .map { "\($0.name.lowercased()): \(masked.contains($0.name.lowercased()) ? "***" : $0.value)" }
        .sorted()
    }

    var isPlain: Bool { method == "GET" && !headers.contains { $0.hasPrefix("range:") } }

    func confirms(_ other: Said) -> Bool {
      let isKept = { (header: String) in !header.hasPrefix("range:") && !header.hasPrefix("cookie:") }
      return target == other.target && port == other.port && headers.filter(isKept) == other.headers.filter(isKept)
    }

    var description: String { "\(port) \(method) \(target) \(headers)" }
  }

  private func lines(_ result: Command.Result) -> [String] {
    result.outputText.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { $0.hasPrefix("curl ") }.map(String.init)
  }

  /// Runs each line in a shell, and returns the origin's requests of the run and of the lines.
  private func repeated(_ line: String, in job: JobFolder, _ origin: Origin, masked: Set<String> = []) async throws -> (
    run: [Said], curl: [Said], lines: [String]
  ) {
    let result = try await job.prewarm("\(line) --verbose --retries 0")
    #expect(result.status == 2, "\(result.outputText)\(result.errorText)")
    let before = origin.requests.count
    let lines = lines(result)
    for line in lines {
      let curl = try await Command("/bin/sh", ["-c", line], environment: job.environment).wait()
      #expect(curl.status == 0, "\(line): \(curl.errorText)")
    }
    let said = origin.requests.map { Said($0, masked: masked) }
    // A plain GET confirms a probe or HEAD that failed.
    let run = said[..<before].enumerated().filter { index, request in
      request.isPlain || !said[(index + 1)..<before].contains { $0.isPlain && $0.confirms(request) }
    }
    return (run.map(\.element), Array(said[before...]), lines)
  }

  /// Runs whose requests all fail, and the fields that their curl lines mask.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var urls = ["ORIGIN/missing.jpg"]
    var keys = ""
    var line = "run job.yaml"
    var masked: Set<String> = []
    var requests = 1
    /// The number of curl lines; nil: one for each request.
    var lines: Int?
    /// What each line has.
    var says: [String] = []
  }

  static let cases = [
    Case(testDescription: "GET", urls: ["ORIGIN/missing.jpg?a=1&b='2'%20$x"], line: "check urls.txt --method get"),
    Case(testDescription: "HEAD", line: "check urls.txt --method head"),
    Case(testDescription: "a probe", line: "check urls.txt --method probe"),
    Case(
      testDescription: "URLs in other spellings",
      urls: ["a b/ü.jpg", "100%.jpg", "x[1]{2}|3.jpg", "a/./b/../c.jpg", "q?x=a b&y=[1]#fragment", "$(id)`id`\\.jpg"].map {
        "ORIGIN/\($0)"
      },
      requests: 6
    ),
    Case(
      testDescription: "headers and secrets",
      keys: """
        request:
          user-agent: "health check/1.0 (it's me)"
          accept: image/webp
          headers: {X-Token: secret-1, Referer: "https://www.example.com/", Accept-Language: de, X-Empty: "", Cookie: "id=secret-2"}
          auth: {username: "o'neil", password-env: PREWARM_CACHE_DIR}
        """,
      masked: ["x-token", "cookie", "authorization"],
      says: ["'X-Token: ***'", #"--user 'o'\''neil:***'"#]
    ),
    Case(
      testDescription: "a URL's credentials",
      urls: ["http://user:secret@127.0.0.1:PORT/missing.jpg"],
      line: "check urls.txt",
      masked: ["authorization"]
    ),
    Case(
      testDescription: "variants and edges",
      urls: ["http://img.example.com/missing.jpg"],
      keys: """
        request:
          variants: {webp: {Accept: image/webp}, jpeg: {Accept: image/jpeg, X-Way: plain}}
          edges: {edge-a: "127.0.0.1:PORT", edge-b: "127.0.0.1:OTHER"}
        """,
      masked: ["x-way"],
      requests: 4
    ),
    Case(
      testDescription: "other servers",
      urls: ["http://img.example.com/missing.jpg", "http://img.example.com:81/missing.jpg"],
      keys: "request: {connect-to: ['img.example.com:80:127.0.0.1:PORT', '::127.0.0.1:PORT'], http: '1.1'}",
      requests: 2
    ),
    Case(testDescription: "a redirect", urls: ["ORIGIN/from.jpg"], line: "check urls.txt", requests: 2, lines: 1),
    Case(
      testDescription: "no redirect",
      urls: ["ORIGIN/from.jpg"],
      line: "check urls.txt --method get --set request.redirects=0"
    ),
    Case(
      testDescription: "a redirect's cookies",
      urls: ["ORIGIN/from.jpg"],
      line: "check urls.txt --method get --set request.cookies=true",
      requests: 2,
      lines: 1
    ),
    Case(
      testDescription: "a proxy",
      keys: "request: {proxy: 'http://user:secret@127.0.0.1:PROXY'}",
      says: ["--proxy 'http://***@127.0.0.1:PROXY"]
    ),
  ]

  @Test(arguments: cases) func `the curl line of a failure repeats its request and shows no secret`(row: Case) async throws {
    let (origin, proxy) = (makeImageOrigin(hosts: 2), TestProxy())
    origin.set("/from.jpg", .status(302, headers: ["Location": "/missing.jpg", "Set-Cookie": "id=1"]))
    func filled(_ text: String) -> String {
      text.replacing("ORIGIN", with: origin.base).replacing("PORT", with: "\(origin.ports[0])")
        .replacing("OTHER", with: "\(origin.ports[1])").replacing("PROXY", with: "\(proxy.port)")
    }
    let job = JobFolder(urls: row.urls.map(filled), keys: filled(row.keys))
    let (run, curl, lines) = try await repeated(row.line, in: job, origin, masked: row.masked)
    #expect(Set(run.map(\.description)) == Set(curl.map(\.description)) && run.count == row.requests, "\(lines): \(run) \(curl)")
    #expect(Set(lines).count == row.lines ?? row.requests)
    for line in lines {
      #expect(
        !line.contains("secret") && !line.contains(job.cacheDirectory) && row.says.allSatisfy { line.contains(filled($0)) },
        "\(line)"
      )
    }
    #expect(run.last?.headers.contains("cookie: id=1") == row.line.contains("cookies"))
    #expect(proxy.log.count == (row.keys.contains("PROXY") ? 2 : 0))
  }

  @Test func `the curl line uses the job's certificates`() async throws {
    let job = JobFolder(
      urls: ["https://127.0.0.1:1/a.jpg"],
      keys: """
        request: {tls: {ca-file: urls.txt, client-certificate: 'a:b.pem', client-key: urls.txt}, http: '2', timeout: 1500ms, retries: 0}
        """
    )
    job.folder.write("", to: "a:b.pem")
    let result = try await job.prewarm("run job.yaml --verbose")
    let line = try #require(lines(result).first)
    let folder = job.folder.path
    #expect(line.contains("--cacert \(folder)/urls.txt --capath /dev/null "), "\(line)")
    #expect(line.contains(#"--cert '\#(folder)/a\:b.pem' --key \#(folder)/urls.txt "#), "\(line)")
    #expect(line.contains("--http2-prior-knowledge") && line.contains("--max-time 1.5 --connect-timeout 10 "), "\(line)")
    let insecure = try await job.prewarm("run job.yaml -v --set", "request.tls={verify: false}")
    #expect(lines(insecure).first?.contains("--insecure") == true)
  }
}
