import Base
@testable import Reports
import TestSupport
import Testing

/// Rows that are counted once more give what the run counted.
@Suite struct RowReplayTests {
  private let folder = TemporaryDirectory()

  @Test func `replayed rows give the run's totals, hosts, groups, formats, manifests and histogram`() throws {
    let journal = try JSONLinesJournal(path: folder.file("rows.jsonl"))
    let run = makeRun(makeSamples(), journals: [journal])
    try journal.finish(run.finish(makeEnd()))
    let (original, again) = (run.finish(makeEnd()), try folder.replay("rows.jsonl"))
    #expect(again.totals == original.totals)
    #expect(again.hosts.map(\.host) == original.hosts.map(\.host))
    for (host, expected) in zip(again.hosts, original.hosts) {
      #expect(host.totals == expected.totals && host.latency == expected.latency && host.remoteCaches == expected.remoteCaches)
      #expect(host.receivedBytes == expected.receivedBytes)
    }
    let areFailuresTheSame = again.failureGroups == original.failureGroups && again.failures == original.failures
    #expect(areFailuresTheSame)
    #expect(again.formats == original.formats && again.warnings == original.warnings)
    #expect(Set(again.manifests.map(\.path)) == Set(original.manifests.map(\.path)))
    #expect(again.traffic == original.traffic)
  }

  @Test func `an image in two lists counts once, with all locations, in the run and from its rows`() throws {
    let journal = try JSONLinesJournal(path: folder.file("rows.jsonl"))
    let run = makeRun(manifests: ["a.txt", "b.txt"], startedAt: nil, journals: [journal], countsImagesOnce: true)
    let missing = ImageFailure(.httpStatus, status: 404, message: "not found")
    for manifest in 0...1 {
      run.record(EntryResult(.hitDisk), url: "https://img.example.com/good.jpg", manifest: manifest)
      run.record(.failed(missing), url: "https://img.example.com/old.jpg", manifest: manifest, line: 7)
      // A failure whose image was good before, or that failed for another reason, counts.
      let changing = manifest == 0 ? EntryResult(.hitDisk) : .failed(ImageFailure(.expectation, message: "too small"))
      run.record(changing, url: "https://img.example.com/c.jpg", manifest: manifest)
    }
    #expect(run.totals.urls == 6)
    let report = run.finish(makeEnd())
    try journal.finish(report)
    for report in [report, try folder.replay("rows.jsonl")] {
      #expect(report.totals.urls == 4 && report.totals.bad == 2 && report.repeats.urls == 2 && report.repeats.bad == 1)
      #expect(report.standings.counting == 2 && report.failures.map(\.otherLocations) == [["b.txt:7"], []])
      #expect(report.manifests.map(\.totals.urls) == [3, 3] && report.hosts[0].totals.urls == 4)
      expectGolden(report.verdict.reasons.joined())
    }
    var half = FailOn()
    half.failures = .fraction(0.5)
    #expect(run.finish(makeEnd(), failOn: half).verdict.reasons.isEmpty)
  }

  @Test func `a text made of rows invents no times`() throws {
    try folder.writeRows(makeSamples(), to: "rows.jsonl")
    let text = TextReport().text(try folder.replay("rows.jsonl"))
    #expect(!text.contains("0/s"), "\(text)")
    expectGolden(text.lines(with: "homepage  "))
  }

  @Test func `rewritten rows have the same bytes`() throws {
    try folder.writeRows(makeSamples(), to: "rows.jsonl")
    let journal = try JSONLinesJournal(path: folder.file("again.jsonl"))
    try journal.finish(try folder.replay("rows.jsonl", journals: [journal]))
    let areTheSame = folder.read("again.jsonl") == folder.read("rows.jsonl")
    #expect(areTheSame)
  }

  @Test func `incomplete rows are rejected, even if they end between two rows`() throws {
    try folder.writeRows(makeSamples(), to: "rows.jsonl")
    let bytes = try #require(folder.read("rows.jsonl"))
    for end in 0..<bytes.count where end == 0 || end > bytes.count - 150 || end % 997 == 0 {
      // The feed of a row is there with the next row only.
      guard end == 0 || bytes[end - 1] != UInt8(ascii: "\n") else { continue }
      folder.write(bytes[..<end], to: "cut.jsonl")
      #expect(throws: ReportReadingError.self, "cut to \(end)") { try folder.replay("cut.jsonl") }
    }
  }

  @Test func `a file without rows is an empty run, which fails, and blank lines are ignored`() throws {
    try JSONLinesJournal(path: folder.file("rows.jsonl")).finish(makeRun().finish(makeEnd()))
    let empty = try folder.replay("rows.jsonl")
    #expect(empty.totals.urls == 0 && empty.exitStatus == .beyondLimits)
    expectGolden(empty.headline.sentence)
    folder.write("{\"url\":\"https://a.example/\",\"outcome\":\"checked\"}\r\n\n  \n", to: "rows.jsonl")
    #expect(try folder.replay("rows.jsonl").totals.checked == 1)
  }

  @Test func `a URL that isn't UTF-8 has its row's key`() {
    let raw: [UInt8] = Array("https://a.example/".utf8) + [0xFF, 0xC3, 0x41]
    let shown = Array(String(decoding: raw, as: UTF8.self).utf8)
    let keys = [raw, shown].map { bytes in bytes.withUnsafeBytes { EntryKey(url: $0) } }
    #expect(keys[0] == keys[1])
    let named = [raw, shown].map { bytes in bytes.withUnsafeBytes { EntryKey(url: $0, variant: sampleVariants[0]) } }
    #expect(named[0] == named[1] && named[0] != keys[0])
    // A key is that of the row's text, a line feed and the variant, a line feed and the edge.
    for text in ["https://a.example/1", "https://a.example/ż🦊"] {
      let joined = Array("\(text)\n\(sampleVariants[0].name!)\n\(sampleVariants[0].edge!)".utf8)
      let parts = Array(text.utf8).withUnsafeBytes { EntryKey(url: $0, variant: sampleVariants[0]) }
      #expect(joined.withUnsafeBytes { EntryKey(url: $0) } == parts)
    }
  }
}
