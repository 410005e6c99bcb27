import Foundation
import Base
import TestSupport
import Testing

@testable import Reports

@Suite struct HTMLTextTests {
  private func html(_ text: String) -> String { ("\(text)" as HTML).markup }

  @Test(
    arguments: [
      ("plain żółć 画像 🦊", "plain żółć 画像 🦊"), ("<script>&amp;", "&lt;script&gt;&amp;amp;"),
      (#""x" 'y'"#, "&quot;x&quot; &#39;y&#39;"),
      ("a\u{0}b\nc", #"a\u{0}b\nc"#), ("\u{202E}gnp.exe", #"\u{202E}gnp.exe"#), ("", ""),
    ]
  )
  func `HTML's special characters are escaped, and hidden ones are shown`(_ row: (text: String, html: String)) {
    #expect(html(row.text) == row.html)
  }

  @Test(
    arguments: [
      ("https://img.example.com/a.png", true), ("HTTP://img.example.com/a'b\"c<d>.png", true),
      ("https://żółć.example/画像.png", true),
      ("javascript:alert(1)", false), (" https://a.example/", false), ("data:text/html,x", false), ("//a.example/x", false),
      ("https://a.example/\u{202E}x", false), ("https://a.example/a\nb", false), ("https://a.example/a b", false),
      ("httpsx://a", false),
      ("https://***@a.example/x", false), ("https://a.example/\u{FFFD}", false), ("https:\\\\a.example\\x", false), ("", false),
      ("https://a.example/" + String(repeating: "x", count: 3000), false),
    ]
  )
  func `a URL becomes a link only if it requests exactly what it shows`(_ row: (url: String, isLink: Bool)) {
    #expect(row.url.isSafeLink == row.isLink)
  }

  @Test func `long text is truncated and its length shown`() {
    #expect(String(repeating: "x", count: 300).shortened(to: 300).count == 300)
    #expect(String(repeating: "ż", count: 300).shortened(to: 300).count == 300)
    #expect(String(repeating: "x", count: 1_048_576).shortened(to: 3) == "xxx… (1 MB)")
    // A single character of many scalars is long, too.
    #expect(("e" + String(repeating: "\u{301}", count: 5000)).shortened(to: 10).unicodeScalars.count < 30)
  }

  @Test func `the script is small, and neither part ends its element or loads anything`() {
    let (style, script) = (EmbeddedPart.style.source, EmbeddedPart.script.source)
    #expect(script.utf8.count < 10_240)
    #expect(!style.contains("</") && !script.contains("</") && !style.contains("url("))
  }

  @Test func `axes end at round numbers`() {
    for value in [0.3, 1, 7, 9.99, 10, 12, 99, 100, 101, 15_639, 1e12] {
      let frame = ChartFrame(upTo: value)
      #expect(
        frame.maximum >= value * 0.999 && frame.maximum <= value * 2 && (1...5).contains(frame.gridValues.count),
        "\(value)"
      )
    }
    #expect(
      [0, 0.04, 0.05, 12.34, -0.5, 1e9].map { ("\($0)" as HTML).markup } == ["0.0", "0.0", "0.1", "12.3", "-0.5", "1000000.0"]
    )
  }

  @Test func `every part of the outcome bar is wide enough to see`() {
    let widths = HTMLPage.barWidths([1_000_000, 1, 500_000], whole: 1000, least: 5)
    #expect(abs(widths.reduce(0, +) - 1000) < 0.001 && widths[1] > 4 && widths[0] > widths[2])
  }

  @Test func `no curl line requests a URL that the page doesn't show exactly`() {
    var report = makeRun().finish(makeEnd())
    let edge = RequestVariant(name: "webp", edge: "east")
    report.requests = [
      ReportedRequest(curl: CurlCommand(options: ["--head"])),
      ReportedRequest(variant: edge, curl: CurlCommand(options: ["--http2"])),
    ]
    func line(_ url: String, kind: FailureKind = .reset, variant: RequestVariant = .plain) -> String? {
      var record = FailureRecord(
        url: url,
        manifest: "m",
        line: 1,
        priority: .normal,
        outcome: .failed,
        failure: ImageFailure(kind, message: "")
      )
      record.variant = variant
      return FailureExamples(report).curl(of: record)?.line
    }
    #expect(line("https://a.example/'x", kind: .connect) == #"curl --head 'https://a.example/'\''x'"#)
    #expect(line("https://a.example/x", variant: edge) == "curl --http2 https://a.example/x")
    #expect(line("https://a.example/x", variant: RequestVariant(name: "png", edge: nil)) == nil)
    #expect(line("https://a.example/\u{200B}") == nil && line("https://a.example/\u{FFFD}") == nil)
    #expect(line("htp:/x", kind: .invalidURL) == nil)
    #expect(line("https://a.example/" + String(repeating: "x", count: 3000)) == nil)
  }
}
