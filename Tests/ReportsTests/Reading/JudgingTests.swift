import ImagePrimitives
import Reports
import TestSupport
import Testing

/// Failures that do not count, by what earlier runs say.
@Suite struct JudgingTests {
  private let folder = TemporaryDirectory()

  private func key(_ name: String, _ variant: ReportedVariant = ReportedVariant(name: nil, edge: nil)) -> EntryKey {
    Array("https://a.example/\(name)".utf8).withUnsafeBytes { EntryKey(url: $0, variant: variant) }
  }

  private func failure(_ name: String, _ outcome: Outcome = .failed, variant: Int = 0) -> Sample {
    let failure = Failure(.dns, message: "no such host")
    var sample = Sample(
      result: EntryResult(outcome, details: .init(failure: failure)),
      url: "https://a.example/\(name)",
      host: "a.example"
    )
    sample.variant = variant
    return sample
  }

  private func grace(job: String = "homepage", runs: Int = 3) throws -> GraceState {
    try GraceState(path: folder.file("state/grace"), job: job, runs: runs)
  }

  /// The standings of one run, in which some failed, some were good and some are open; the state is written after it.
  private func run(
    failed: [String] = [],
    good: [String] = [],
    open: [String] = [],
    isWhole: Bool = true
  ) throws -> [FailureStanding] {
    let state = try grace()
    for name in good { state.passed(key(name)) }
    for name in open { state.leftOpen(key(name)) }
    let standings = failed.map { state.standing(of: key($0)) }
    try state.write(isWhole: isWhole)
    return standings
  }

  @Test("a baseline of rows or of a JSON report knows what failed, by variant; a missing one is none")
  func baseline() throws {
    let samples = [failure("failed"), failure("known-bad", .blacklisted), failure("variant", variant: 1)]
    let good = Sample(result: EntryResult(.checked), url: "https://a.example/good", host: "a.example")
    try folder.writeRows(samples + [good], to: "rows.jsonl")
    folder.write(JSONReport().text(makeRun(samples + [good]).finish(makeEnd())), to: "report.json")
    for name in ["rows.jsonl", "report.json"] {
      let baseline = try #require(try FailureBaseline(path: folder.file(name)))
      #expect(baseline.count == 3)
      #expect(baseline.standing(of: key("failed")) == .known && baseline.standing(of: key("known-bad")) == .known)
      #expect(baseline.standing(of: key("good")) == .counts && baseline.standing(of: key("new")) == .counts)
      #expect(
        baseline.standing(of: key("variant")) == .counts && baseline.standing(of: key("variant", sampleVariants[0])) == .known
      )
    }
    #expect(try FailureBaseline(path: folder.file("missing.jsonl")) == nil)
  }

  @Test("a baseline of rows is read no further once the run is stopped")
  func stoppedBaseline() throws {
    try folder.writeRows((0..<10).map { failure("\($0)") }, to: "rows.jsonl")
    var left = 4
    let baseline = try FailureBaseline(path: folder.file("rows.jsonl")) {
      left -= 1
      return left < 0
    }
    #expect(baseline?.count == 4)
  }

  @Test("a baseline that omits failures is refused")
  func incompleteBaseline() {
    folder.write(JSONReport().text(makeRun((0..<1001).map { failure("\($0)") }).finish(makeEnd())), to: "report.json")
    let error = sentence(in: folder) { _ = try FailureBaseline(path: folder.file("report.json")) }
    #expect(error == "report.json lists only 1,000 of 1,001 failures; name the JSON Lines report of that run instead")
  }

  @Test("a URL counts when it failed in three runs on end; one good run forgets it")
  func threeRunsOnEnd() throws {
    #expect(try run(failed: ["a", "b"]) == [.inGrace, .inGrace])
    #expect(try run(failed: ["a"], good: ["b"]) == [.inGrace])
    #expect(try run(failed: ["a", "b"]) == [.counts, .inGrace])
    #expect(try run(failed: ["a"]) == [.counts])
    #expect(try run(good: ["a"]) == [])
    #expect(try run(failed: ["a"]) == [.inGrace])
  }

  @Test("a URL that stands in the list twice counts once, and its last end stands")
  func twiceInOneRun() throws {
    #expect(try run(failed: ["a", "a", "a"]) == [.inGrace, .inGrace, .inGrace])
    #expect(try run(failed: ["a", "a"]) == [.inGrace, .inGrace])
    // Good, and bad after it: it begins anew.
    #expect(try run(failed: ["a", "a"], good: ["a"]) == [.inGrace, .inGrace])
    #expect(try run(failed: ["a"]) == [.inGrace])
    #expect(try run(failed: ["a"]) == [.counts])
  }

  @Test("what is skipped, cancelled or not reached stays as it was; what is in the lists no more is forgotten after a whole run")
  func openEntries() throws {
    for _ in 1...2 { #expect(try run(failed: ["open", "unreached", "gone"]) == [.inGrace, .inGrace, .inGrace]) }
    #expect(try run(open: ["open"], isWhole: false) == [])
    #expect(try run(failed: ["unreached"], open: ["open"]) == [.counts])
    #expect(try run(failed: ["open", "unreached", "gone"]) == [.counts, .counts, .inGrace])
  }

  @Test("a state of another job or version, and one that was cut or changed anywhere, is refused")
  func refusedStates() throws {
    _ = try run(failed: ["a", "b"])
    let bytes = try #require(folder.read("state/grace"))
    #expect(
      sentence(in: folder) { _ = try grace(job: "catalog") }?.hasSuffix("is of the job 'homepage'; name a file of this job's own")
        == true
    )
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 1
      folder.write(changed, to: "state/grace")
      #expect(throws: GraceStateError.self, "changed at \(place)") { try grace() }
      guard place < bytes.count - 1 else { continue }
      folder.write(bytes[..<place], to: "state/grace")
      #expect(throws: GraceStateError.self, "cut to \(place)") { try grace() }
    }
    folder.write("prewarm.grace/2\n", to: "state/grace")
    #expect(sentence(in: folder) { _ = try grace() }?.contains("is of another version, 'prewarm.grace/2'") == true)
    folder.write("name: homepage\n", to: "state/grace")
    #expect(sentence(in: folder) { _ = try grace() }?.hasSuffix("is no state of prewarm; name another file") == true)
  }

  @Test("the state is the same file for the same failures, and nothing is left beside it")
  func writtenStates() throws {
    _ = try run(failed: ["a", "b", "c"])
    let first = folder.read("state/grace")
    folder.write("", to: "other")
    _ = try run(failed: ["c"], open: ["a", "b"], isWhole: false)
    _ = try run(good: ["a", "b", "c"])
    _ = try run(failed: ["c", "b", "a"])
    let isTheSame = first == folder.read("state/grace")
    #expect(isTheSame)
  }

  @Test("of two judges each keeps its count, and a failure counts only where neither lets it off")
  func combinedJudges() throws {
    try folder.writeRows([failure("known")], to: "rows.jsonl")
    let baseline = try #require(try FailureBaseline(path: folder.file("rows.jsonl")))
    for expected in [[FailureStanding.known, .inGrace], [.known, .inGrace], [.known, .counts]] {
      let state = try grace()
      let judge = CombinedJudge([baseline, state])
      #expect(["known", "new"].map { judge.standing(of: key($0)) } == expected)
      try state.write(isWhole: true)
    }
    let state = try grace()
    #expect(state.standing(of: key("known")) == .counts)
  }
}
