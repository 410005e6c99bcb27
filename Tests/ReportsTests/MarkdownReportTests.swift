import Foundation
import Base
@testable import Reports
import TestSupport
import Testing

/// Texts that mean something to GitHub-flavoured Markdown, or to what GitHub looks for after it.
let hostileMarkdown = [
  "@octocat", "octo/repo#123", "#123", "GH-1", "https://evil.example.com", "www.evil.example.com", "me@evil.example.com", "`",
  "``a`",
  "` ", " `a", "a|b", "\\|", "\\", "|", "<script>alert(1)</script>", "<!-- -->", "</details>",
  "![x](https://evil.example.com/x.png)",
  "[x](javascript:alert(1))", "**bold**", "~~gone~~", "- [ ] task", "# heading", ":tada:", "&lt;", "---", "1. one", "    code",
  "",
]

@Suite struct MarkdownReportTests {
  private func nodes(_ report: FinishedReport) async throws -> XMLNodes {
    try await Readers.markdown(Array(MarkdownReport().text(report).utf8))
  }

  private func hostileReport(_ texts: [String]) -> FinishedReport {
    let run = makeRun(job: JobIdentity(name: texts.joined(), file: nil), manifests: texts, startedAt: nil)
    for (index, text) in texts.enumerated() {
      run.record(
        .failed(ImageFailure(FailureKind.ofURLs[index % FailureKind.ofURLs.count], message: text)),
        url: text,
        host: text,
        manifest: index
      )
    }
    var report = run.finish(makeEnd { $0.warnings = texts })
    report.placeholders = texts.map { Placeholder(host: $0, checksum: Checksum(high: 0, low: 0), urls: 10, firstURL: $0) }
    return report
  }

  @Test func `the report has verdict, outcomes, failures with examples, hosts, placeholders, warnings and cache, in order`()
    async throws
  {
    let text = MarkdownReport().text(RichRun.report())
    let expected = [
      "## `homepage`",
      "**FAILED: 20 of 39 URLs",
      "| hit-disk | 7 | 14.6 % |", "| failed | 19 | 39.6 % |", "| **all** | **48** | |",
      "| http-status 404 | 15 | `img.example.com` 15 |", "<details><summary>http-status 404: 15 URLs</summary>",
      "- [`https://img.example.com/old.jpg`](<https://img.example.com/old.jpg>) in `urls/hero.txt:30`: `the server answered 404 Not Found`",
      "- … 5 more",
      "`served HTML as \"image/jpeg\"`", "| `img.example.com` | ",
      "| `cdn.example.com` | 12 |  | `https://cdn.example.com/p/1.png` |",
      "- `the cache is on a network file system`", "- Cache: 9,898 images",
    ]
    var rest = text[...]
    for part in expected {
      let range = try #require(rest.range(of: part), "\(part) in \(text)")
      rest = rest[range.upperBound...]
    }
    expectGolden(text.lines(with: "**FAILED"), for: "verdict")
    let nodes = try await nodes(RichRun.report())
    #expect(nodes.named("table").count == 4)
    #expect(nodes.named("html_block").count == 8)
  }

  @Test func `external text is only code, whatever it contains`() async throws {
    let texts = hostileTexts + hostileMarkdown
    let nodes = try await nodes(hostileReport(texts))
    let allowed: Set = [
      "document", "heading", "paragraph", "text", "strong", "softbreak", "code", "list", "item", "table", "table_header",
      "table_row",
      "table_cell", "html_block", "link",
    ]
    #expect(Set(nodes.elements.map(\.name)).subtracting(allowed).isEmpty)
    let blocks = nodes.named("html_block").map { $0.text.trimmingCharacters(in: .newlines) }
    #expect(blocks.allSatisfy { $0 == "</details>" || ($0.hasPrefix("<details><summary>") && $0.count { $0 == "<" } == 3) })
    let words = nodes.named("text").map(\.text).joined()
    #expect(!words.contains("evil") && !words.contains("octo") && !words.contains("script"))
    let code = nodes.named("code").map(\.text)
    for text in texts {
      let shown = escapedForTerminal(text).replacingOccurrences(of: "|", with: "\\u{7C}")
      // Spaces at both ends of code are the parser's.
      #expect(code.contains { $0 == (shown.isEmpty ? "\"\"" : shown) }, "\(text)")
    }
    for row in nodes.elements.indices where ["table_row", "table_header"].contains(nodes.elements[row].name) {
      #expect([3, 4, 7].contains(nodes.children(of: row).count))
    }
  }

  @Test func `the report is below 1 MiB, and every truncation has a count`() async throws {
    let long = String(repeating: "`|", count: 2000)
    let run = makeRun(manifests: [long])
    for host in 0..<2000 {
      for kind in FailureKind.ofURLs {
        run.record(.failed(ImageFailure(kind, message: long)), url: long, host: "\(host).\(long)")
      }
    }
    for status in 400..<500 { run.record(.failed(ImageFailure(.httpStatus, status: status, message: long)), url: long) }
    var report = run.finish(makeEnd { $0.warnings = Array(repeating: long, count: 500) })
    report.placeholders = Array(
      repeating: Placeholder(host: long, checksum: Checksum(high: 0, low: 0), urls: 1, firstURL: long),
      count: 500
    )
    let text = MarkdownReport().text(report)
    #expect(text.utf8.count < 1_000_000)
    for count in ["… 65 more | 65", "elsewhere 1,997", "… 1,990 more", "… 1,991 more hosts", "… 480 more"] {
      #expect(text.contains(count), "\(count)")
    }
    _ = try await nodes(report)
  }

  @Test(arguments: [0, 10, 150, 400, 1000, 2500])
  func `sections that don't fit are omitted from the first on, and the report says so`(bytes: Int) {
    let whole = MarkdownReport().text(RichRun.report())
    let text = MarkdownReport(maximumBytes: bytes).text(RichRun.report())
    #expect(text.utf8.count <= bytes)
    guard text.utf8.count > 0, text != whole else { return }
    expectGolden(text.split(separator: "\n").last.map(String.init))
    #expect(whole.hasPrefix(text.prefix { $0 != "…" }.dropLast()))
  }

  @Test func `the reason of a broken-off run is shown as code`() async throws {
    let report = makeRun().finish(makeEnd { $0.breakage = "@octocat/a.txt cannot be read" })
    let nodes = try await nodes(report)
    #expect(nodes.named("code").contains { $0.text.contains("@octocat/a.txt cannot be read") })
    #expect(!nodes.named("text").contains { $0.text.contains("octocat") })
  }
}
