import Foundation
import TestOrigin
import TestSupport
import Testing

/// Runs the job of ``TortureJob`` repeatedly, with a different failing call each time.
///
/// By default for some of the faults, with `PREWARM_TORTURE=1` for all; `scripts/torture` sets that, and prints the
/// table.
@Suite(.serialized) struct TortureTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let isComplete = environment["PREWARM_TORTURE"] != nil
  /// The number of parallel runs.
  private static let width = environment["PREWARM_TORTURE_WIDTH"].flatMap { Int($0) } ?? 2
  /// Only this call, such as `openat`.
  private static let onlyCall = environment["PREWARM_TORTURE_CALL"]
  private static let onlyPlace = environment["PREWARM_TORTURE_PLACE"].flatMap { Int($0) }
  /// The maximum number of places for each call and error, unless all faults run.
  private static let sample = 1

  @Test(
    .enabled("needs strace and the right to attach it (ptrace)") { await Strace.isAllowed() },
    arguments: TortureJob.Kind.allCases
  )
  func `whichever system call fails, the run ends by itself, reports correctly, and leaves a sound cache`(kind: TortureJob.Kind)
    async throws
  {
    let torture = try await TortureJob(kind)
    let counts = try await countCalls(torture)
    var random = SeededRandom(seed: 20_261_121)
    let faults = Fault.errors.flatMap { row in
      let places = Array(1...max(1, counts[row.call] ?? 0)).filter { _ in counts[row.call] != nil }
      let chosen = Self.isComplete ? places : Array(places.shuffled(using: &random).prefix(Self.sample))
      return row.errors.flatMap { error in chosen.map { Fault(call: row.call, error: error, place: $0) } }
    }
    .filter { Self.onlyCall == nil || $0.call == Self.onlyCall }.filter { Self.onlyPlace == nil || $0.place == Self.onlyPlace }
    var table = TortureTable()
    try await withThrowingTaskGroup(of: (Fault, Command.Ending?, [String]).self) { group in
      var rest = faults[...]
      for fault in rest.prefix(Self.width) { group.addTask { await Self.outcome(of: fault, torture) } }
      rest = rest.dropFirst(Self.width)
      while let (fault, ending, broken) = try await group.next() {
        if let next = rest.popFirst() { group.addTask { await Self.outcome(of: next, torture) } }
        table.add(fault, ending, isGood: broken.isEmpty)
        for sentence in broken { Issue.record("\(kind), \(fault): \(sentence)") }
      }
    }
    if Self.isComplete { print("\nA \(kind.rawValue) cache:\n\n\(table.text)\n") }
    #expect(table.runs == faults.count && (Self.onlyCall != nil || faults.count > 20))
  }

  /// The number of each call in the busiest thread of a run without faults, which must succeed.
  private func countCalls(_ torture: TortureJob) async throws -> [String: Int] {
    let job = try torture.makeFolder()
    let trace = job.folder.file("trace.txt")
    let result = try await torture.run(in: job, ["-o", trace, "-e", "trace=" + Fault.errors.map(\.call).joined(separator: ",")])
    let run = try job.finishedRun(result)
    #expect(
      run.status == 2 && torture.expected.allSatisfy { run.totals[$0.key] == $0.value },
      "\(run.totals) \(result.errorText)"
    )
    #expect(try await torture.faults(in: job, after: result) == [])
    return Strace.counts(in: String(decoding: job.folder.read("trace.txt") ?? [], as: UTF8.self))
  }

  private static func outcome(of fault: Fault, _ torture: TortureJob) async -> (Fault, Command.Ending?, [String]) {
    do {
      let job = try torture.makeFolder()
      let result = try await torture.run(in: job, ["-o", "/dev/null", "-e", "trace=\(fault.call)", "-e", fault.expression])
      return (fault, result.ending, try await torture.faults(in: job, after: result))
    } catch {
      return (fault, nil, ["\(error)"])
    }
  }
}

/// The results of each call and error, one row each.
private struct TortureTable {
  private struct Row {
    var runs = 0
    var good = 0
    var endings: [String: Int] = [:]
  }

  private var rows: [String: Row] = [:]
  private var order: [String] = []

  var runs: Int { rows.values.reduce(0) { $0 + $1.runs } }

  mutating func add(_ fault: Fault, _ ending: Command.Ending?, isGood: Bool) {
    let name = "\(fault.call) | \(fault.error)"
    if rows[name] == nil { order.append(name) }
    let end =
      switch ending {
      case .exited(let status)?: "exit \(status)"
      case .signalled(let signal)?: "signal \(signal)"
      case nil: "no end"
      }
    rows[name, default: Row()].runs += 1
    rows[name, default: Row()].good += isGood ? 1 : 0
    rows[name, default: Row()].endings[end, default: 0] += 1
  }

  /// The table as Markdown.
  var text: String {
    let lines = order.sorted().compactMap { name in
      rows[name].map { row in
        let endings = row.endings.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", ")
        return "| \(name) | \(row.runs) | \(endings) | \(row.runs - row.good) |"
      }
    }
    return (["| call | error | runs | ends | wrong |", "|---|---|---|---|---|"] + lines + ["\(runs) runs"]).joined(
      separator: "\n"
    )
  }
}
