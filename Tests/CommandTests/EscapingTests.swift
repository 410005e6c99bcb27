import Foundation
import TestOrigin
import TestSupport
import Testing

/// Text from servers and manifests is shown, but never interpreted: its control characters, escape sequences and
/// changes of text direction reach no terminal, and every report stays well-formed.
@Suite struct EscapingTests {
  @Test func `no report shows user and password, even of invalid or nested URLs`() async throws {
    let origin = makeImageOrigin()
    let job = JobFolder(urls: [
      origin.url("/no.jpg?to=http://user:geheim@h/"),
      origin.url("/no/http://user:geheim@h/a.jpg").replacing("http://127", with: "http://user:geheim@127"),
      "x http://user:geheim@h/y", "https//user:geheim@h/x", "://user:geheim@h", #"http\u://user:geheim\@h/x"#,
      "7,http://user:geheim@h/a.jpg",
    ])
    let formats = ["json", "jsonl", "csv", "junit", "markdown", "github", "html", "prometheus"]
    let result = try await job.start(["run", "job.yaml", "--verbose"] + formats.flatMap { ["--report", "\($0)=reports/\($0)"] })
      .wait()
    #expect(result.status == 2 && result.outputText.contains("http://***@h/y"), "\(result.errorText)")
    for format in formats {
      let report = job.folder.text("reports/\(format)")
      #expect(!report.contains("geheim") && report.contains("***") == (format != "prometheus"), "\(format)")
    }
    #expect(!result.outputText.contains("geheim") && !result.errorText.contains("geheim"))
  }

  /// Clears the screen, sets colours and a title, rings, reverses the text direction, ends a line, and imitates a
  /// message.
  private static let nasty = "\u{1B}[2J\u{1B}[31m\u{1B}]0;owned\u{7}\u{202E}gnp\u{2066}\u{9B}31m\u{85}\u{2028}\u{FEFF}"

  /// Bytes that must not be in any output.
  private static let forbidden: [Unicode.Scalar] = [
    "\u{1B}", "\u{7}", "\u{202E}", "\u{2066}", "\u{9B}", "\u{85}", "\u{2028}", "\u{FEFF}", "\u{0}", "\u{8}", "\r",
  ]

  /// A whole response with these fields.
  private static func response(_ fields: String, _ body: [UInt8] = []) -> Behaviour {
    .raw(Array("HTTP/1.1 \(fields)\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body)
  }

  private static let behaviours: [String: Behaviour] = [
    "reason": response("404 \(nasty)"),
    "location": response("302 Found\r\nLocation: gopher://\(nasty)/"),
    "relative": response("302 Found\r\nLocation: /\(nasty)"),
    "type": response("200 OK\r\nContent-Type: text/\(nasty)", Array("hello".utf8)),
    "image-type": response("200 OK\r\nContent-Type: image/\(nasty)", SampleImages.baseJPEG),
    "coding": response("200 OK\r\nContent-Encoding: \(nasty)", Array("hello".utf8)),
    "status-line": .raw("\(nasty)\r\n\r\n"),
    "etag": response("200 OK\r\nETag: \"\(nasty)\"\r\nVary: \(nasty)", SampleImages.baseJPEG),
  ]

  private static let reports = JobFolder.run + ["--report", "text=report.txt", "--verbose"]

  @Test(arguments: behaviours.keys.sorted(), [false, true])
  func `text from servers is escaped in every output`(place: String, isTerminal: Bool) async throws {
    let origin = try Origin(["/fault.jpg": Self.behaviours[place]!])
    let job = JobFolder(urls: [origin.url("/fault.jpg")], keys: "request: {retries: 0}")
    let plain = ["--color", "never", "--progress", "none"]
    let result = try await job.start(Self.reports + plain, terminal: isTerminal ? Command.Terminal() : nil).wait()
    // A terminal adds its own carriage returns.
    expectEscaped(result, in: job) { isTerminal ? $0.filter { $0 != 13 } : $0 }
    let run = try job.finishedRun(result)
    #expect(run.rows.count == 1 && run.sumOfTotals == 1)
    for line in ["cache list", "cache list --json", "blacklist list", "blacklist list --json"] {
      expectEscaped(try await job.prewarm(line).output, line)
    }
  }

  @Test func `text from manifests is escaped in every output`() async throws {
    let origin = try Origin()
    let job = JobFolder(urls: ["\(origin.base)/\(Self.nasty).jpg", "http://\(Self.nasty)/", "gopher://\(Self.nasty)", Self.nasty])
    expectEscaped(try await job.start(Self.reports).wait(), in: job)
    expectEscaped(try await job.prewarm("run job.yaml --dry-run").output, "a dry run")
    let invisible = JobFolder(urls: ["\(origin.base)/a\u{202E}gpj.b\u{FEFF}"])
    let dry = try await invisible.prewarm("run job.yaml --dry-run")
    expectEscaped(dry.output, "a dry run")
    #expect(dry.outputText.contains(#"/a\u{202E}gpj.b\u{FEFF}"#), "\(dry.outputText)")
  }

  private func expectEscaped(_ result: Command.Result, in job: JobFolder, filter: ([UInt8]) -> [UInt8] = { $0 }) {
    expectEscaped(filter(result.output), "standard output")
    expectEscaped(filter(result.error), "standard error")
    for name in ["report.txt", "report.json", "rows.jsonl"] { expectEscaped(job.folder.read(name) ?? [], name) }
  }

  /// Text must be UTF-8 without control characters; JSON escapes them.
  private func expectEscaped(_ bytes: [UInt8], _ place: String) {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      Issue.record("\(place) is no UTF-8")
      return
    }
    let found = Self.forbidden.filter { text.unicodeScalars.contains($0) }
    #expect(found.isEmpty, "\(place) has \(found.map { String($0.value, radix: 16) }) in \(text.debugDescription)")
  }
}
