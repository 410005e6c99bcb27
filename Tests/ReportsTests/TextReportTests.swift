import ImagePrimitives
import Reports
import Testing

@Suite struct TextReportTests {
  private func text(_ report: FinishedReport, width: Int = 80) -> String { TextReport(width: width).text(report) }

  @Test("a report with failures has this text") func failuresInFull() {
    #expect(
      text(makeTroubledRun()) == """
        homepage: 10,000 URLs in 8.1 s, 102 bad: more than fail-on.failures (0), so exit
        status 2

          hits         7,003   70.0 %   on disk
          downloaded   2,895   29.0 %   71.2 MB, 357/s, 11 ms median, 115 ms at 99 %
          failed          87    0.9 %   30 may heal by themselves
          blacklisted     15    0.2 %   known bad, not asked; prewarm blacklist list

          3,042 requests, 60 of them again, 45.0 s waited in all; 2,078 jpeg, 817 webp

        Failures
          404 Not Found          57   img.example.com 52, cdn.example.com 5
            https://img.example.com/hero/old.jpg                    urls/hero.txt:17
            https://img.example.com/hero/older.jpg                  urls/hero.txt:18
            … 55 more
          timeout                30   slow.example.net 30   (no answer in 60 s)
            https://slow.example.net/a.png                          urls/partners.csv:3
            https://slow.example.net/a.png                          urls/partners.csv:4
            … 28 more
          not an image           15   cdn.example.com 15   (served HTML as image/jpeg)
            https://cdn.example.com/campaigns/2026/spring/banners/large/welcome-back@2x.jpg
              urls/partners.csv:40
            https://cdn.example.com/campaigns/2026/spring/banners/large/welcome-back@2x.jpg
              urls/partners.csv:41
            … 13 more

        Hosts                  urls     hits      new      bad   median     99 %
          img.example.com     8,120    6,000    2,068       52    10 ms   113 ms
          cdn.example.com     1,850    1,003      827       20    15 ms   310 ms
          slow.example.net       30        –        –       30        –        –

        Cache      9,898 entries, 1.1 GB of 2 GB; all fresh until 2026-11-28 09:00 UTC
        Blacklist  102 URLs, 87 new
        Speed      1,235/s, 8.8 MB/s; bounded by per-host: 8 of 32 transfers used; raise
                   prefetch.per-host

        """
    )
  }

  @Test("a wider terminal gets longer lines") func aWiderTerminalGetsMoreOnALine() {
    let wide = text(makeTroubledRun(), width: 110)
    #expect(wide.contains("more than fail-on.failures (0), so exit status 2\n"))
    #expect(wide.contains("/large/welcome-back@2x.jpg  urls/partners.csv:40\n"))
  }

  @Test("colours only emphasise what the words say") func coloursOnlyUnderlineWhatTheWordsSay() {
    let colored = TextReport(width: 100, hasColor: true).text(makeTroubledRun())
    #expect(colored.contains("\u{1B}[31m   87\u{1B}[0m    0.9 %"))
    #expect(colored.replacing(/\u{1B}\[[0-9]+m/, with: "") == text(makeTroubledRun(), width: 100))
  }

  @Test("a good run takes one line and the cache's") func allIsWellTakesALineAndTheCache() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 10_000)
    let report = run.finish(
      makeEnd(after: .milliseconds(420)) {
        addStores(to: &$0)
        $0.blacklist = BlacklistSummary(entries: 0, added: 0, removed: 0)
      }
    )
    #expect(
      text(report) == """
        homepage: 10,000 URLs in 0.4 s, all good (10,000 hits)
        Cache      9,898 entries, 1.1 GB of 2 GB; all fresh until 2026-11-28 09:00 UTC

        """
    )
  }

  @Test("downloads have a speed") func whatWasFetchedHasItsSpeed() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk))
    run.record(.downloaded(bytes: 25_000, milliseconds: 12), count: 9)
    let report = run.finish(makeEnd(after: .milliseconds(420)) { $0.boundedBy = "the origin" })
    #expect(
      text(report) == """
        homepage: 10 URLs in 0.4 s, all good (1 hit, 9 downloaded)
        Speed      24/s, 536 kB/s, 12 ms median, 12 ms at 99 %; bounded by the origin

        """
    )
  }

  @Test("only verbose text shows where the time went") func whatTheTimeWentToIsForWhoWantsToKnowMore() {
    let run = makeRun()
    run.record(.downloaded(bytes: 25_000, milliseconds: 12), count: 9)
    let report = run.finish(
      makeEnd(after: .milliseconds(420)) {
        $0.boundShares = [("network", 0.714), ("disk", 0.155), ("cpu", 0.004)].map { BoundShare(name: $0, fraction: $1) }
      }
    )
    #expect(!text(report).contains("71 %"))
    #expect(TextReport(isVerbose: true).text(report).hasSuffix("\nTime       71 % network, 16 % disk\n"))
  }

  @Test("a run of hits only shows no network speed") func hitsAloneSayNothingOfTheNetworksSpeed() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 10_000)
    let report = run.finish(makeEnd(after: .milliseconds(20)) { $0.boundedBy = "cpu: one core was busy" })
    #expect(text(report) == "homepage: 10,000 URLs in 20 ms, all good (10,000 hits)\n")
    #expect(TextReport(isVerbose: true).text(report).hasSuffix("\nSpeed      500,000/s; bounded by cpu: one core was busy\n"))
  }

  @Test("one URL is singular") func oneURLIsNotPlural() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk))
    #expect(text(run.finish(makeEnd(after: .milliseconds(4)))) == "homepage: 1 URL in 4 ms, all good (1 hit)\n")
  }

  @Test("an interruption comes first") func anInterruptionIsSaidFirst() {
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
    #expect(
      text(report) == """
        homepage: interrupted by SIGINT: 4 of 10 URLs done in 1 min 15 s, so exit status
        130

          hits             3   30.0 %   in memory
          downloaded       1   10.0 %   25 kB, <0.1/s, 12 ms median, 12 ms at 99 %
          cancelled        6   60.0 %   read, but not finished; run again to go on

        Hosts                 urls     hits      new      bad   median     99 %
          img.example.com       10        3        1        –    12 ms    12 ms

        Speed      0.1/s, 332 B/s

        """
    )
  }

  @Test("a passed deadline comes first, whether or not it fails the run") func theDeadlineIsSaidFirstWhetherItFailsTheRunOrNot() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 4)
    run.record(.failed(Failure(.timeout, isTransient: true, message: "no answer in 60 s")))
    run.record(EntryResult(.cancelled), count: 5000)
    let end = makeEnd(after: .seconds(30)) { $0.isPastDeadline = true }
    let strict = text(run.finish(end), width: 200)
    #expect(
      strict.hasPrefix(
        "homepage: the deadline passed with 5,000 URLs not finished; 1 bad: more than fail-on.failures (0); "
          + "5,005 URLs in 30.0 s, so exit status 2\n"
      )
    )
    var rules = FailOn()
    rules.unfinished = false
    rules.failures = .fraction(0.5)
    let lenient = text(run.finish(end, failOn: rules), width: 200)
    #expect(
      lenient.hasPrefix(
        "homepage: the deadline passed; 5,005 URLs in 30.0 s, 5,000 not finished, 1 bad, which fail-on.failures allows\n"
      )
    )
  }

  @Test("a broken manifest comes first, and warnings follow") func aBrokenManifestIsSaidFirstAndWarningsStandBelow() {
    let run = makeRun()
    run.record(EntryResult(.skipped), count: 4)
    let report = run.finish(
      makeEnd(after: .seconds(30)) {
        $0.breakage = "urls/hero.csv.gz broke after line 9,120: the gzip data is damaged"
        $0.areManifestsRead = false
        $0.warnings = ["the cache is on a network file system, where locks and memory maps may fail"]
      }
    )
    #expect(
      text(report) == """
        homepage: urls/hero.csv.gz broke after line 9,120: the gzip data is damaged; 4
        URLs in 30.0 s, so exit status 1

          skipped          4  100.0 %   filtered out, or not cached and not asked for

        Hosts                 urls     hits      new      bad   median     99 %
          img.example.com        4        –        –        –        –        –

        Warnings   the cache is on a network file system, where locks and memory maps
                   may fail

        """
    )
  }

  @Test("an empty run says why") func anEmptyRunSaysWhy() {
    let report = makeRun().finish(makeEnd(after: .seconds(3)) { $0.isEmpty = true })
    let headline = "homepage: 0 URLs in 3.0 s, no URL was left after include and exclude, so exit status 2\n"
    #expect(text(report, width: 120) == headline)
  }

  private func makePage(of text: String) -> String {
    let run = RunReport(version: "0.1.0", job: JobIdentity(name: text, file: text), manifests: [text], startedAt: nineOClock)
    run.record(.failed(Failure(.reset, message: text)), url: text, host: text)
    return self.text(run.finish(makeEnd(after: .seconds(1)) { $0.warnings = [text] }), width: 300)
  }

  @Test("external text cannot steer the terminal", arguments: hostileTexts)
  func textFromOutsideCannotSteerTheTerminal(_ hostile: String) {
    let page = makePage(of: hostile)
    for scalar in page.unicodeScalars where scalar != "\n" {
      #expect(![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory))
    }
    #expect(page.count { $0 == "\n" } == makePage(of: "harmless").count { $0 == "\n" })
  }
}
