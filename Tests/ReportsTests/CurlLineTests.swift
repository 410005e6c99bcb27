import Base
@testable import Reports
import Testing

@Suite struct CurlLineTests {
  @Test(
    arguments: [
      ("https://img.example.com/a.jpg", "curl --head https://img.example.com/a.jpg"),
      ("https://img.example.com/a b.jpg?x=1&y='2'", "curl --head 'https://img.example.com/a%20b.jpg?x=1&y=%272%27'"),
      ("https://img.example.com/100%.jpg?a=%2f%zz", "curl --head 'https://img.example.com/100%.jpg?a=%2f%zz'"),
      ("https://bücher.example/ä\u{202E}.jpg", "curl --head https://xn--bcher-kva.example/%C3%A4%E2%80%AE.jpg"),
      ("https://[::1]:8443/a.jpg", "curl --head 'https://[::1]:8443/a.jpg'"),
      ("https://img.example.com/a[1]{2}.jpg", "curl --head --globoff 'https://img.example.com/a[1]%7B2%7D.jpg'"),
      ("https://***@img.example.com/$(id)`id`", "curl --head 'https://***@img.example.com/$(id)%60id%60'"),
      ("http://img.example.com/a/%2e%2E/%7ex%41?", "curl --head 'http://img.example.com/%7ex%41?'"),
      ("-Kfile", "curl --head --url -Kfile"),
      ("https://img.example.com/\u{1B}[2J\n;id", "curl --head --globoff 'https://img.example.com/%1B[2J;id'"),
    ]
  )
  func `a curl line has the URL as it is sent`(url: String, line: String) {
    #expect(CurlCommand(options: ["--head"]).line(for: url) == line)
  }

  private func makeReport() -> FinishedReport {
    let webp = RequestVariant(name: "webp", edge: "edge-a")
    let run = makeRun(manifests: ["urls.txt"], variants: [webp], startedAt: nil)
    let failure = ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found")
    for line in 1...12 { run.record(.failed(failure), url: "https://img.example.com/\(line).jpg", line: UInt64(line)) }
    var report = run.finish(makeEnd())
    report.requests = [
      ReportedRequest(variant: webp, curl: CurlCommand(options: ["-H", "Accept: image/webp"])),
      ReportedRequest(curl: CurlCommand(options: ["--location"])),
    ]
    return report
  }

  @Test func `verbose text has all listed failures with their curl lines`() {
    let text = TextReport(detail: .all, failureLimit: .max).text(makeReport())
    #expect(text.split(separator: "\n").filter { $0.hasPrefix("      curl --location https://img.example.com/") }.count == 12)
    #expect(!text.contains("more\n") && !TextReport().text(makeReport()).contains("curl"))
  }

  @Test func `verbose text has ten failures of a kind omitted from the list`() {
    let run = makeRun()
    for line in 1...10_005 { run.record(.failed(ImageFailure(.reset, message: "cut")), url: "https://img.example.com/a/\(line)") }
    for line in 1...12 { run.record(.failed(ImageFailure(.empty, message: "empty")), url: "https://img.example.com/b/\(line)") }
    let text = TextReport(detail: .all, failureLimit: .max).text(run.finish(makeEnd()))
    let urls = text.split(separator: "\n").filter { $0.contains("    https://") }
    #expect(urls.count { $0.contains("/a/") } == 10_000 && urls.count { $0.contains("/b/") } == 10)
    #expect(text.contains("  … 7 more"))
  }

  @Test func `a failure has its variant's curl line`() {
    let report = makeReport()
    var failure = report.failures[0]
    failure.variant = RequestVariant(name: "webp", edge: "edge-a")
    #expect(report.curlLine(of: failure) == "curl -H 'Accept: image/webp' https://img.example.com/1.jpg")
    failure.variant = RequestVariant(name: "other", edge: nil)
    #expect(report.curlLine(of: failure) == nil)
    failure = report.failures[0]
    for url in ["-o/tmp/x", "file:///etc/passwd", "http://", "https://a.example/\u{202E}x", "https://a.example/\u{FFFD}"] {
      failure.url = url
      #expect(report.curlLine(of: failure) == nil, "\(url)")
    }
    failure.url = "HTTPS://a.example/x"
    #expect(report.curlLine(of: failure) == "curl --location https://a.example/x")
    failure = report.failures[0]
    failure.failure = ImageFailure(.invalidURL, message: "the URL has no host")
    #expect(report.curlLine(of: failure) == nil)
  }

  @Test func `the curl line of a failure that a GET has confirmed asks for no range and isn't HEAD`() {
    var report = makeReport()
    for (asking, plain) in [(["-sS", "--range", "0-65535", "-L"], "-sS -L"), (["--head", "-L"], "-D - -o /dev/null -L")] {
      report.requests = [ReportedRequest(curl: CurlCommand(options: asking))]
      var failure = report.failures[0]
      failure.url = "https://a.example/x"
      failure.variant = .plain
      for (reason, options) in [
        (ImageFailure(.httpStatus, status: 404, message: ""), plain), (ImageFailure(.reset, message: ""), plain),
        (ImageFailure(.httpStatus, status: 429, message: ""), asking.joined(separator: " ")),
        (ImageFailure(.notAnImage, message: ""), asking.joined(separator: " ")),
      ] {
        failure.failure = reason
        #expect(report.curlLine(of: failure) == "curl \(options) https://a.example/x")
      }
    }
  }

  @Test func `option values are quoted in curl lines, and hidden characters make no line`() {
    let command = CurlCommand(options: ["-H", "X: $(id)`id`'; id", ";", ""])
    #expect(command.line(for: "https://a.example/") == #"curl -H 'X: $(id)`id`'\''; id' ';' '' https://a.example/"#)
    var report = makeReport()
    report.requests = [ReportedRequest(curl: CurlCommand(options: ["-H", "Accept: \u{202E}x"]))]
    #expect(report.curlLine(of: report.failures[0]) == nil)
  }
}
