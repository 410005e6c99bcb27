import Base
@testable import Reports
import TestSupport
import Testing

@Suite struct TextReportTests {
  private func text(_ report: FinishedReport, width: Int = 80) -> String { TextReport(width: width).text(report) }

  @Test func `a report with failures has this text`() { expectGolden(text(makeTroubledRun())) }

  @Test func `a wider terminal gets longer lines`() {
    let wide = text(makeTroubledRun(), width: 110)
    expectGolden(wide)
    #expect(wide.contains("/large/welcome-back@2x.jpg  urls/partners.csv:40\n"))
  }

  @Test func `colours only emphasise what the words say`() {
    let colored = TextReport(width: 100, hasColor: true).text(makeTroubledRun())
    #expect(colored.contains("\u{1B}[31m   87\u{1B}[0m    0.9 %"))
    #expect(colored.replacing(/\u{1B}\[[0-9]+m/, with: "") == text(makeTroubledRun(), width: 100))
  }

  @Test func `a good run takes one line`() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 10_000)
    let report = run.finish(
      makeEnd(after: .milliseconds(420)) {
        addStores(to: &$0)
        $0.blacklist = BlacklistSummary(entries: 0, added: 0, removed: 0)
      }
    )
    expectGolden(text(report))
  }

  @Test func `downloads have a speed`() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk))
    run.record(.downloaded(bytes: 25_000, milliseconds: 12), count: 9)
    let report = run.finish(makeEnd(after: .milliseconds(420)) { $0.bottleneck = "the origin" })
    expectGolden(text(report))
  }

  @Test func `only verbose text shows where the time went`() {
    let run = makeRun()
    run.record(.downloaded(bytes: 25_000, milliseconds: 12), count: 9)
    let report = run.finish(
      makeEnd(after: .milliseconds(420)) {
        $0.bottlenecks = [("network", 0.714), ("disk", 0.155), ("cpu", 0.004)].map { BottleneckShare(name: $0, fraction: $1) }
      }
    )
    #expect(!text(report).contains("71 %"))
    #expect(TextReport(detail: .all, failureLimit: .max).text(report).hasSuffix("\nTime       71 % network, 16 % disk\n"))
  }

  @Test func `a run of hits only shows no network speed`() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 10_000)
    let report = run.finish(makeEnd(after: .milliseconds(20)) { $0.bottleneck = "cpu: one core was busy" })
    expectGolden(text(report))
    expectGolden(TextReport(detail: .all, failureLimit: .max).text(report))
  }

  @Test func `one URL is singular`() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk))
    expectGolden(text(run.finish(makeEnd(after: .milliseconds(4)))))
  }

  @Test func `an interruption comes first`() {
    let run = makeRun()
    run.record(EntryResult(.hitMemory), count: 3)
    run.record(.downloaded(bytes: 25_000, milliseconds: 12))
    run.record(EntryResult(.cancelled), count: 6)
    let report = run.finish(
      makeEnd(after: .milliseconds(75_400)) {
        $0.interruption = .interrupt
        $0.areManifestsRead = false
      }
    )
    expectGolden(text(report))
  }

  @Test func `a passed deadline comes first, whether or not it fails the run`() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 4)
    run.record(.failed(ImageFailure(.timeout, isTransient: true, message: "no answer in 60 s")))
    run.record(EntryResult(.cancelled), count: 5000)
    let end = makeEnd(after: .seconds(30)) { $0.isPastDeadline = true }
    let strict = text(run.finish(end), width: 200)
    expectGolden(strict)
    var rules = FailOn()
    rules.unfinished = false
    rules.failures = .fraction(0.5)
    let lenient = text(run.finish(end, failOn: rules), width: 200)
    expectGolden(lenient)
  }

  @Test func `a broken manifest comes first, and warnings follow`() {
    let run = makeRun()
    run.record(EntryResult(.skipped), count: 4)
    let report = run.finish(
      makeEnd(after: .seconds(30)) {
        $0.breakage = "urls/hero.csv.gz broke after line 9,120: the gzip data is damaged"
        $0.areManifestsRead = false
        $0.warnings = ["the cache is on a network file system, where locks and memory maps may fail"]
      }
    )
    expectGolden(text(report))
  }

  @Test func `the verdict is one line unless it goes to a terminal`() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 4)
    let breakage = "urls/hero.csv.gz broke after line 9,120 of many more: the gzip data is damaged, and the rest is lost"
    let report = run.finish(makeEnd(after: .seconds(30)) { $0.breakage = breakage })
    #expect(text(report).hasPrefix("homepage  FAILED  \(breakage); 4 URLs  30.0 s\n"))
    #expect(TextReport(isCut: true).text(report).split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test func `an empty run says why`() {
    let report = makeRun().finish(makeEnd(after: .seconds(3)) { $0.isEmpty = true })
    expectGolden(text(report, width: 120))
  }

  private func makePage(of text: String) -> String {
    let run = makeRun(job: JobIdentity(name: text, file: text), manifests: [text])
    run.record(.failed(ImageFailure(.reset, message: text)), url: text, host: text)
    return self.text(run.finish(makeEnd { $0.warnings = [text] }), width: 300)
  }

  @Test(arguments: hostileTexts) func `external text cannot steer the terminal`(_ hostile: String) {
    let page = makePage(of: hostile)
    for scalar in page.unicodeScalars where scalar != "\n" {
      #expect(![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory))
    }
    #expect(page.count { $0 == "\n" } == makePage(of: "harmless").count { $0 == "\n" })
  }
}
