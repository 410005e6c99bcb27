import Base
import TestSupport
import Testing

@testable import Reports

@Suite struct ProgressRendererTests {
  private func makeSnapshot(_ change: (inout ProgressSnapshot) -> Void = { _ in }) -> ProgressSnapshot {
    var totals = OutcomeTotals()
    totals.add(.hitDisk, 5803)
    totals.add(.downloaded, 2324)
    totals.add(.failed, 72)
    totals.add(.blacklisted, 15)
    var snapshot = ProgressSnapshot(
      name: "homepage",
      totals: totals,
      total: 10_000,
      urlsPerSecond: 1240,
      bytesPerSecond: 41_200_000,
      remaining: .milliseconds(600),
      note: "img.example.com paused 12 s (429)"
    )
    change(&snapshot)
    return snapshot
  }

  private func bar(_ width: Int, color: Bool = false, _ snapshot: ProgressSnapshot) -> String {
    ProgressRenderer(width: width, hasColor: color).bar(snapshot).joined(separator: "\n")
  }

  @Test func `the bar fills the terminal except its last column`() { expectGolden(bar(100, makeSnapshot())) }

  @Test func `a narrow terminal drops the least important parts`() { expectGolden(bar(60, makeSnapshot())) }

  @Test(arguments: 1...130) func `no line is wider than the terminal`(_ width: Int) {
    let snapshot = makeSnapshot { $0.name = "画像-nightly" }
    for line in ProgressRenderer(width: width, hasColor: false).bar(snapshot) { #expect(columns(of: line) <= max(width - 1, 1)) }
  }

  @Test func `the bar is full at the end`() {
    let snapshot = makeSnapshot {
      $0.done = 10_000
      $0.remaining = nil
      $0.note = nil
    }
    #expect(bar(70, snapshot) == "homepage  ━━━━━━━━━━━━━━━━━━ 100 %  10,000 of 10,000  87 bad  1,240/s")
  }

  @Test func `an unfinished run never shows 100 %`() {
    #expect(ProgressRenderer(width: 80, hasColor: false).line(makeSnapshot { $0.done = 9_999 }).contains("(99 %)"))
  }

  @Test func `while manifests are being read there is no percentage`() {
    let snapshot = makeSnapshot {
      $0.total = nil
      $0.remaining = nil
    }
    expectGolden(bar(60, snapshot))
    let line = ProgressRenderer(width: 60, hasColor: false).line(snapshot)
    expectGolden(line)
  }

  @Test func `the last error has a line of its own, cut to the terminal`() {
    let failing = makeSnapshot {
      $0.note = nil
      $0.lastFailure = "http-status 404 https://img.example.com/hero/an-old-picture.jpg"
    }
    let lines = ProgressRenderer(width: 60, hasColor: false).bar(failing)
    #expect(lines.last == "  last error: http-status 404 https://img.example.com/hero…" && lines.count == 2)
    let line = ProgressRenderer(width: 60, hasColor: false).line(failing)
    #expect(line.hasSuffix(", last error: http-status 404 https://img.example.com/hero/an-old-picture.jpg"))
    #expect(ProgressRenderer(width: 60, hasColor: false).bar(makeSnapshot { $0.note = nil }).count == 1)
  }

  @Test(arguments: [(7.2, "8 s"), (59, "59 s"), (127, "2 min"), (135, "2 min 10 s"), (1500, "25 min"), (11_999, "3 h 19 min")])
  func `the remaining time is as exact as an estimate`(_ row: (seconds: Double, text: String)) {
    let line = ProgressRenderer(width: 80, hasColor: false).line(makeSnapshot { $0.remaining = .seconds(row.seconds) })
    #expect(line.contains(", \(row.text) left,"))
  }

  @Test func `a log gets one line`() {
    let line = ProgressRenderer(width: 80, hasColor: false).line(makeSnapshot())
    let counts = "homepage: 8,214 of 10,000 (82 %), 5,803 hits, 2,324 new, 87 bad, 1,240/s, 1 s left"
    #expect(line == counts + ", img.example.com paused 12 s (429)")
  }

  @Test func `a log line names the bottleneck`() {
    let line = ProgressRenderer(width: 80, hasColor: false).line(makeSnapshot { $0.note = "a.example\u{1B} paused 12 s (429)" })
    #expect(line.hasSuffix(", 1,240/s, 1 s left, a.example\\u{1B} paused 12 s (429)"))
  }

  @Test func `colours only emphasise what the words say`() {
    let colored = bar(100, color: true, makeSnapshot())
    #expect(colored.contains("\u{1B}[31m87 bad\u{1B}[0m"))
    #expect(colored.contains("\u{1B}[33mimg.example.com paused 12 s (429)\u{1B}[0m"))
    #expect(colored.replacing(/\u{1B}\[[0-9]+m/, with: "") == bar(100, makeSnapshot()))
  }
}
