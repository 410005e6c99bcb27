import Base
@testable import Reports
import TestSupport
import Testing

/// Comparisons of two reports.
@Suite struct ComparisonTests {
  private let folder = TemporaryDirectory()

  private func sample(_ name: String, _ outcome: LoadOutcome, _ change: (inout EntryResult) -> Void = { _ in }) -> Sample {
    var result = EntryResult(outcome)
    if outcome == .failed || outcome == .blacklisted {
      let failure = ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found")
      result.details = .init(failure: failure)
    }
    change(&result)
    return Sample(result: result, url: "https://a.example/\(name)", host: "a.example")
  }

  private func image(_ name: String, bytes: UInt64 = 5000, width: UInt32 = 800, format: ImageFormat = .jpeg, hash: UInt64 = 1)
    -> Sample
  {
    sample(name, .downloaded) {
      ($0.bytes, $0.width, $0.height, $0.format) = (bytes, width, 600, format)
      $0.checksum = Checksum(high: 0, low: hash)
    }
  }

  private func compare(_ old: String, _ new: String) throws -> (ReportComparison, [String]) {
    var differences: [String] = []
    let comparison = try ReportComparison(from: folder.file(old), to: folder.file(new)) {
      differences.append(
        "\($0.change.rawValue) \($0.entry.url.split(separator: "/").last ?? "") \($0.aspects.map(\.rawValue).joined(separator: ","))"
      )
    }
    return (comparison, differences)
  }

  private func writeReport(_ samples: [Sample], to name: String) {
    folder.write(JSONReport().text(makeRun(samples).finish(makeEnd())), to: name)
  }

  private var old: [Sample] {
    [
      image("same"), sample("heals", .failed), image("breaks"), sample("stays-bad", .blacklisted), image("format"), image("size"),
      image("bytes"), image("content"), sample("gone-bad", .failed), image("gone"), sample("open", .cancelled),
      sample("hit", .hitDisk) { $0.bytes = 5000 }, image("twice"), sample("twice", .failed),
    ]
  }

  private var new: [Sample] {
    [
      image("new"), sample("new-bad", .failed), sample("new-bad", .failed), sample("open", .failed), image("content", hash: 2),
      image("bytes", bytes: 5001, hash: 3), image("size", bytes: 4000, width: 400, hash: 3),
      image("format", bytes: 4000, format: .webp, hash: 4), sample("stays-bad", .failed), sample("breaks", .failed),
      image("heals"),
      image("same"), image("hit"), image("twice"), sample("twice", .failed),
    ]
  }

  @Test func `comparing two reports of rows shows broken, fixed and changed entries, and counts additions and removals`() throws {
    try folder.writeRows(old, to: "old.jsonl")
    try folder.writeRows(new, to: "new.jsonl")
    let (comparison, differences) = try compare("old.jsonl", "new.jsonl")
    #expect(
      differences == [
        "changed content content", "changed bytes bytes", "changed size size,bytes", "changed format format,bytes",
        "broke breaks ",
        "healed heals ",
      ]
    )
    #expect(comparison.broke == 1 && comparison.healed == 1 && comparison.changed == 4 && comparison.stillBad == 1)
    #expect(comparison.appeared == 2 && comparison.appearedBad == 1)
    #expect(comparison.disappeared == 2 && comparison.disappearedBad == 1)
    #expect(comparison.compared == 10 && comparison.notes.isEmpty)
  }

  @Test func `comparing JSON reports shows broken and fixed entries, and names the limits of the comparison`() throws {
    try folder.writeRows(old, to: "old.jsonl")
    try folder.writeRows(new, to: "new.jsonl")
    writeReport(old.filter { $0.url.hasSuffix("twice") == false }, to: "old.json")
    writeReport(new.filter { $0.url.hasSuffix("twice") == false }, to: "new.json")
    let bothSides = try compare("old.json", "new.json")
    #expect(bothSides.1 == ["broke new-bad ", "broke open ", "broke breaks ", "healed heals ", "healed gone-bad "])
    #expect(bothSides.0.notes.count == 3 && bothSides.0.appeared == nil && bothSides.0.disappeared == nil)
    let earlier = try compare("old.json", "new.jsonl")
    #expect(earlier.1 == ["broke new-bad ", "broke open ", "broke breaks ", "healed heals "])
    #expect(earlier.0.disappeared == 1)
    expectGolden(earlier.0.notes.first)
    let later = try compare("old.jsonl", "new.json")
    #expect(later.1 == ["broke breaks ", "healed heals ", "healed gone-bad "])
    #expect(later.0.appearedBad == 1 && later.0.disappeared == nil)
    let page = ComparisonText(limit: 1).text(later.0, from: "old.jsonl", to: "new.json")
    expectGolden(page)
    #expect(page.hasPrefix("old.jsonl → new.json: 1 broken, 2 fixed, 1 appeared (1 bad)\n"))
    #expect(!ComparisonText(limit: 1).text(bothSides.0, from: "old.json", to: "new.json").contains("appeared"))
  }

  @Test func `the headline counts entries that appeared and disappeared, and the bad ones among them`() throws {
    try folder.writeRows([image("same"), image("gone"), sample("gone-bad", .failed)], to: "old.jsonl")
    try folder.writeRows([image("same"), image("new")], to: "new.jsonl")
    func headline(_ old: String, _ new: String) throws -> String? {
      let comparison = try ReportComparison(from: folder.file(old), to: folder.file(new)) { _ in }
      return ComparisonText(limit: 1).text(comparison, from: old, to: new).split(separator: "\n").first.map(String.init)
    }
    #expect(try headline("old.jsonl", "new.jsonl") == "old.jsonl → new.jsonl: 1 appeared, 2 disappeared (1 bad)")
    #expect(try headline("new.jsonl", "new.jsonl") == "new.jsonl → new.jsonl: no differences")
  }

  @Test func `a JSON report that omits failures is rejected with advice`() throws {
    writeReport((0..<10_001).map { sample("\($0)", .failed) }, to: "old.json")
    try folder.writeRows(new, to: "new.jsonl")
    let error = sentence(in: folder) { _ = try compare("old.json", "new.jsonl") }
    expectGolden(error)
  }

  @Test func `entries of one URL are distinguished by variant and edge`() throws {
    var (old, new) = ([image("a"), image("a")], [image("a"), sample("a", .failed)])
    (old[1].variant, new[1].variant) = (1, 1)
    try folder.writeRows(old, to: "old.jsonl")
    try folder.writeRows(new, to: "new.jsonl")
    var broken: [ReportDifference] = []
    let comparison = try ReportComparison(from: folder.file("old.jsonl"), to: folder.file("new.jsonl")) { broken.append($0) }
    #expect(comparison.compared == 2 && broken.map(\.entry.variant) == [sampleVariants[0]])
  }

  @Test func `the text shows counts first, then groups with their first examples, escaped`() throws {
    try folder.writeRows(
      old + [Sample(result: EntryResult(.checked), url: "https://a.example/\u{1B}[31m", host: "")],
      to: "old.jsonl"
    )
    let hostile = Sample(result: sample("", .failed).result, url: "https://a.example/\u{1B}[31m", host: "")
    try folder.writeRows(new + [hostile], to: "new.jsonl")
    var page = ComparisonText(limit: 1)
    let comparison = try ReportComparison(from: folder.file("old.jsonl"), to: folder.file("new.jsonl")) { page.add($0) }
    let text = page.text(comparison, from: "old.jsonl", to: "new.jsonl")
    expectGolden(text)
    var all = ComparisonText(limit: 10)
    _ = try ReportComparison(from: folder.file("old.jsonl"), to: folder.file("new.jsonl")) { all.add($0) }
    let whole = all.text(comparison, from: "old.jsonl", to: "new.jsonl")
    #expect(whole.contains("https://a.example/\\u{1B}[31m") && !whole.contains("\u{1B}"))
  }
}
