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

  private static let behaviours: [String: Behaviour] = [
    "reason": .raw("HTTP/1.1 404 \(nasty)\r\nContent-Length: 0\r\n\r\n"),
    "location": .raw("HTTP/1.1 302 Found\r\nLocation: gopher://\(nasty)/\r\nContent-Length: 0\r\n\r\n"),
    "relative": .raw("HTTP/1.1 302 Found\r\nLocation: /\(nasty)\r\nContent-Length: 0\r\n\r\n"),
    "type": .raw("HTTP/1.1 200 OK\r\nContent-Type: text/\(nasty)\r\nContent-Length: 5\r\n\r\nhello"),
    "image-type": .raw(
      Array("HTTP/1.1 200 OK\r\nContent-Type: image/\(nasty)\r\nContent-Length: \(SampleImages.baseJPEG.count)\r\n\r\n".utf8)
        + SampleImages.baseJPEG
    ),
    "coding": .raw("HTTP/1.1 200 OK\r\nContent-Encoding: \(nasty)\r\nContent-Length: 5\r\n\r\nhello"),
    "status-line": .raw("\(nasty)\r\n\r\n"),
    "etag": .raw(
      Array(
        "HTTP/1.1 200 OK\r\nETag: \"\(nasty)\"\r\nVary: \(nasty)\r\nContent-Length: \(SampleImages.baseJPEG.count)\r\n\r\n".utf8
      )
        + SampleImages.baseJPEG
    ),
  ]

  @Test(arguments: behaviours.keys.sorted(), [false, true])
  func `text from servers is escaped in every output`(place: String, isTerminal: Bool) async throws {
    let origin = try Origin(["/fault.jpg": Self.behaviours[place]!])
    let job = JobFolder(urls: [origin.url("/fault.jpg")], keys: "request: {retries: 0}")
    let options = ["--report", "text=report.txt", "--report", "json=report.json", "--report", "jsonl=rows.jsonl", "--verbose"]
    let plain = ["--color", "never", "--progress", "none"]
    let result = try await job.start(["run", "job.yaml"] + options + plain, terminal: isTerminal ? Command.Terminal() : nil)
      .wait()
    // A terminal adds its own carriage returns.
    expectEscaped(isTerminal ? result.output.filter { $0 != 13 } : result.output, "standard output")
    expectEscaped(isTerminal ? result.error.filter { $0 != 13 } : result.error, "standard error")
    for name in ["report.txt", "report.json", "rows.jsonl"] { expectEscaped(job.folder.read(name) ?? [], name) }
    let run = try job.finishedRun(result)
    #expect(run.rows.count == 1 && run.sumOfTotals == 1)
    for arguments in [["cache", "list"], ["cache", "list", "--json"], ["blacklist", "list"], ["blacklist", "list", "--json"]] {
      expectEscaped(try await job.start(arguments).wait().output, arguments.joined(separator: " "))
    }
  }

  @Test func `text from manifests is escaped in every output`() async throws {
    let origin = try Origin()
    let job = JobFolder(urls: ["\(origin.base)/\(Self.nasty).jpg", "http://\(Self.nasty)/", "gopher://\(Self.nasty)", Self.nasty])
    let options = ["--report", "text=report.txt", "--report", "json=report.json", "--report", "jsonl=rows.jsonl", "--verbose"]
    let result = try await job.start(["run", "job.yaml"] + options).wait()
    expectEscaped(result.output, "standard output")
    expectEscaped(result.error, "standard error")
    for name in ["report.txt", "report.json", "rows.jsonl"] { expectEscaped(job.folder.read(name) ?? [], name) }
    expectEscaped(try await job.prewarm("run job.yaml --dry-run").output, "a dry run")
    let invisible = JobFolder(urls: ["\(origin.base)/a\u{202E}gpj.b\u{FEFF}"])
    let dry = try await invisible.prewarm("run job.yaml --dry-run")
    expectEscaped(dry.output, "a dry run")
    #expect(dry.outputText.contains(#"/a\u{202E}gpj.b\u{FEFF}"#), "\(dry.outputText)")
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
