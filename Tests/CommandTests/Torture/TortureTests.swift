import Foundation
import Glibc
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
    let faults = Fault.errors.flatMap { row -> [Fault] in
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
    return Strace.counts(in: job.folder.text("trace.txt"))
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
  private var rows: [String: (endings: [String: Int], wrong: Int)] = [:]
  private(set) var runs = 0

  mutating func add(_ fault: Fault, _ ending: Command.Ending?, isGood: Bool) {
    let name = "\(fault.call) | \(fault.error)"
    rows[name, default: ([:], 0)].endings[ending.map { "\($0)" } ?? "no end", default: 0] += 1
    rows[name]?.wrong += isGood ? 0 : 1
    runs += 1
  }

  /// The table as Markdown.
  var text: String {
    let lines = rows.sorted { $0.key < $1.key }.map { name, row in
      let endings = row.endings.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", ")
      return "| \(name) | \(endings) | \(row.wrong) |"
    }
    return (["| call | error | ends | wrong |", "|---|---|---|---|"] + lines + ["\(runs) runs"]).joined(separator: "\n")
  }
}

/// Debian's strace, attached to a command that waits for its job, so that calls of the loader and the Swift runtime's
/// start neither count nor fail.
enum Strace {
  private static let path = "/usr/bin/strace"

  /// Whether strace is installed, and may attach to a process that isn't its child.
  static func isAllowed() async -> Bool {
    guard access(path, X_OK) == 0, let sleeper = try? Command("/bin/sleep", ["1000"]) else { return false }
    defer { sleeper.kill() }
    do {
      let tracer = try Command(path, ["-p", "\(sleeper.processID)"])
      try await tracer.waitForError("attached")
      return true
    } catch {
      return false
    }
  }

  /// Attaches strace to a running command and all of its threads; returns once it traces.
  static func attach(to command: Command, _ options: [String]) async throws -> Command {
    let tracer = try Command(path, ["-f", "-p", "\(command.processID)"] + options)
    try await tracer.waitForError("attached")
    return tracer
  }

  /// The number of each call in the busiest thread, from the output of `-f -o`.
  static func counts(in trace: String) -> [String: Int] {
    var counts: [Substring: [Substring: Int]] = [:]
    for line in trace.split(separator: "\n") {
      let fields = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
      guard fields.count == 2, let end = fields[1].firstIndex(of: "("), !fields[1].hasPrefix("<") else { continue }
      let call = fields[1][..<end].drop { $0 == " " }
      counts[call, default: [:]][fields[0], default: 0] += 1
    }
    return Dictionary(uniqueKeysWithValues: counts.map { (String($0.key), $0.value.values.max() ?? 0) })
  }
}

/// A failing system call, in the form of strace's `inject`.
struct Fault: Hashable, CustomStringConvertible {
  /// The call's name, such as `openat`.
  let call: String
  /// The error it fails with, such as `EIO`.
  let error: String
  /// The number of the failing call, from 1. strace counts per thread, so the call of that number fails in every thread
  /// that makes as many: one fault, or a few at the same time.
  let place: Int

  var description: String { "\(call)=\(error) at \(place)" }

  /// The value of strace's `-e`.
  var expression: String { "inject=\(call):error=\(error):when=\(place)" }
}

extension Fault {
  /// The calls to fail, each with possible errors (their pages in section 2 of the manual).
  static let errors: [(call: String, errors: [String])] = [
    ("openat", "EMFILE EIO ENOSPC"), ("read pread64 unlinkat", "EIO"), ("write pwrite64 pwritev", "ENOSPC EIO"),
    ("fdatasync fsync ftruncate renameat rename linkat mkdirat", "EIO ENOSPC"), ("mmap connect sendto recvfrom", "ENOMEM"),
    ("socket epoll_create1 eventfd2", "EMFILE ENOMEM"), ("epoll_ctl", "ENOSPC ENOMEM"), ("clone3", "EAGAIN ENOMEM"),
  ].flatMap { calls, errors in JobFolder.words(calls).map { ($0, JobFolder.words(errors)) } }
}
