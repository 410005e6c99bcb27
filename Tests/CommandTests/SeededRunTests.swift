import Foundation
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// Whole runs in worlds that follow from a seed: origins that lie, full disks, kills and clock jumps, several runs over one cache.
///
/// After each run every entry has one row, the sums agree, no limit was exceeded, each verdict is what the origins serve, and what was ever
/// reported as stored is stored.
@Suite(.serialized) struct SeededRunTests {
  @Test func `whatever happens, rows, sums, limits, verdicts and the cache agree`() async throws {
    for seed in SoakCounts.seed..<SoakCounts.seed + UInt64(SoakCounts.worlds) {
      do {
        try await SeededWorld(seed: seed).live()
      } catch {
        Issue.record("seed \(seed): \(error)")
      }
    }
  }
}

/// What an origin serves at a URL.
private enum Truth: Equatable, CaseIterable {
  case good, large, moved, gone, page, cut, reset
  /// It fails at first, and after a repair; whether a run sees that depends on its retries.
  case flaky

  var isGood: Bool { [.good, .large, .moved].contains(self) }

  func behaviour(_ number: Int, movedTo other: String) -> Behaviour {
    let image = Behaviour.jpeg(number, padding: self == .large ? 300_000 : 0)
    return switch self {
    case .good, .large: image
    case .moved: .redirect(to: other)
    case .gone: .status(404)
    case .page: .text("<!doctype html><title>Sorry</title>")
    case .cut: .cut(afterBytes: 200, declared: 340, of: SampleImages.jpeg(number), type: "image/jpeg")
    case .reset: .reset
    case .flaky: .sequence([.status(500), .reset, .status(502), image])
    }
  }
}

/// What happens to a run.
private enum Incident: Equatable {
  case none, fullDisk
  case signal(Int32)
  case clock(seconds: Int, jumps: Bool)
}

/// Acts at the request of a number.
private final class Trigger: Sendable {
  private let state = Mutex((left: Int.max, act: {} as @Sendable () -> Void))

  func set(after count: Int, _ act: @escaping @Sendable () -> Void) {
    state.withLock { $0 = (count, act) }
    if count == 0 { act() }
  }

  func pull() {
    let act = state.withLock { state in
      state.left -= 1
      return state.left == 0 ? state.act : nil
    }
    act?()
  }
}

private final class SeededWorld {
  private let seed: UInt64
  private var random: SeededRandom
  private let origin: Origin
  private let job: JobFolder
  private let mount: TemporaryMount?
  private var truths: [Truth]
  private let urls: [String]
  /// The numbers of the entries, in the order of the list; some are there twice.
  private let list: [Int]
  private let concurrency, perHost, retries: Int
  private var reported: Set<String> = []
  private let trigger = Trigger()
  /// Holds responses until as many are under way as the limits allow; nil if they come at once.
  private let gate: Gate?
  private var clockWasWrong = false
  /// Whether a run was stopped, whose last requests an origin may read later.
  private var wasStopped = false

  init(seed: UInt64) throws {
    self.seed = seed
    var random = SeededRandom(seed: seed)
    let hosts = Int.random(in: 1...3, using: &random)
    origin = try Origin(addresses: Array(repeating: .ipv4, count: hosts))
    let count = Int.random(in: 1...40, using: &random)
    let kinds = Truth.allCases.filter { _ in Bool.random(using: &random) } + [.good]
    truths = (0..<count).map { _ in Bool.random(using: &random) ? .good : kinds.randomElement(using: &random)! }
    urls = (0..<count).map { [origin] in origin.url("/\($0).jpg?\(seed)", host: $0 % hosts) }
    list = ((0..<count) + (0..<count).filter { _ in Int.random(in: 0..<8, using: &random) == 0 }).shuffled(using: &random)
    concurrency = Int.random(in: 1...8, using: &random)
    perHost = Int.random(in: 1...4, using: &random)
    retries = Int.random(in: 0...4, using: &random)
    let isSmall = TemporaryMount.isAllowed && Int.random(in: 0..<5, using: &random) == 0
    mount = isSmall ? try TemporaryMount(byteCount: 4 << 20) : nil
    let order = ["fifo", "lifo"].randomElement(using: &random)!
    let depth = ["header", "full"].randomElement(using: &random)!
    let threads = Int.random(in: 1...3, using: &random)
    gate = Bool.random(using: &random) ? Gate() : nil
    job = JobFolder(
      urls: list.map { [urls] in urls[$0] },
      keys: """
        prefetch: {concurrency: \(concurrency), per-host: \(perHost), threads: \(threads), order: \(order)}
        request: {retries: \(retries), backoff: {initial: 1ms, maximum: 2ms}}
        verify: {decode: \(depth)}
        \(mount.map { "cache: {directory: \($0.directory.path)}" } ?? "")
        """
    )
    self.random = random
    for number in truths.indices { serve(number) }
  }

  private func serve(_ number: Int) {
    let behaviour = truths[number].behaviour(number, movedTo: "/target/\(number).jpg")
    origin.set(
      "/\(number).jpg",
      .computed { [trigger, gate] _ in
        trigger.pull()
        return gate.map { .held($0, then: behaviour) } ?? behaviour
      }
    )
    origin.set("/target/\(number).jpg", .jpeg(number))
  }

  /// Runs several times; between the runs the origins change, and in the end all is well.
  func live() async throws {
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      try await run(incident())
      for number in truths.indices where Int.random(in: 0..<6, using: &random) == 0 {
        // What is stored doesn't get worse: a hit isn't requested.
        if !truths[number].isGood { truths[number] = .good }
        serve(number)
      }
    }
    if mount == nil { try await run(.none) }
    if reported.isEmpty { return }
    let verified = try await job.prewarm("cache verify --job job.yaml")
    #expect(verified.status == 0, "seed \(seed): \(verified.outputText)\(verified.errorText)")
  }

  private func incident() -> Incident {
    switch Int.random(in: 0..<7, using: &random) {
    case 0: return .signal([SIGKILL, SIGINT, SIGTERM].randomElement(using: &random)!)
    case 1 where mount != nil, 2 where mount != nil: return .fullDisk
    case 1: return .signal(SIGKILL)
    case 3: return .clock(seconds: [-100, 100].randomElement(using: &random)!, jumps: true)
    case 4: return .clock(seconds: [-86_400, 86_400].randomElement(using: &random)!, jumps: false)
    default: return .none
    }
  }

  private func run(_ incident: Incident) async throws {
    let before = truths.indices.map { origin.count(of: "/\($0).jpg") }
    unlink(job.folder.file("report.json"))
    let options = ["run", "job.yaml", "--retry-blacklisted", "--report", "jsonl=-", "--report", "json=report.json"]
    let command: Command
    switch incident {
    case .clock(let seconds, let jumps):
      clockWasWrong = true
      let clock =
        "export PREWARM_CLOCK_OFFSET=\(seconds) LD_PRELOAD=\(Preload.clock.path)\(jumps ? " PREWARM_CLOCK_JUMPS=1" : "")"
      command = try job.start(options, after: clock)
    case .fullDisk:
      let left = Int.random(in: 0...60_000, using: &random)
      trigger.set(after: Int.random(in: 0...list.count / 2, using: &random)) { [mount] in mount?.fill(leaving: left) }
      command = try job.start(options)
    default: command = try job.start(options)
    }
    let responses = Task { [gate] in
      while let gate, !Task.isCancelled {
        // No event tells that the limits are full: nothing else arrives for a while.
        let waiting = gate.waiting
        try await Task.sleep(for: .milliseconds(2))
        if waiting > 0, waiting == gate.waiting { gate.step() }
      }
    }
    // A run with fewer requests or rows ends by itself.
    if case .signal(let signal) = incident {
      wasStopped = true
      let count = Int.random(in: 0...list.count / 2, using: &random)
      if Bool.random(using: &random) {
        trigger.set(after: count) { [command] in command.send(signal) }
      } else {
        try? await command.waitForOutputLines(count)
        command.send(signal)
      }
    }
    let result = try await command.wait()
    responses.cancel()
    trigger.set(after: .max) {}
    try await origin.waitForOpenConnections(0)
    let text = result.output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
    let rows = try text.map { try JSONDecoder().decode(Run.Row.self, from: Data($0)) }
    reported.formUnion(rows.filter { $0.outcome == "downloaded" }.map(\.url))
    let requests = truths.indices.map { origin.count(of: "/\($0).jpg") - before[$0] }
    judge(result, rows, requests, incident)
    try await expectStored()
    // What is stored in the future expires when the clock is right.
    if case .clock(_, jumps: false) = incident { reported = [] }
  }

  private func judge(_ result: Command.Result, _ rows: [Run.Row], _ requests: [Int], _ incident: Incident) {
    let scene: Comment = "seed \(seed), \(incident): \(result.ending), \(result.errorText)"
    for host in origin.ports.indices { #expect(origin.peakInFlight(host: host) <= perHost, scene) }
    #expect(origin.peakInFlight <= concurrency, scene)
    #expect(Set(rows.map(\.line)).count == rows.count, scene)
    guard let status = result.status else {
      guard case .signal(let signal) = incident else { return #expect(Bool(false), scene) }
      // Before a run begins, the others end it at once, too.
      return #expect(result.ending == .signalled(signal) && (signal == SIGKILL || rows.isEmpty), scene)
    }
    guard let run = try? job.finishedRun(result) else {
      // It was stopped before it began.
      return #expect(rows.isEmpty && status != 0, scene)
    }
    // A list in reverse order is written to the disk first.
    if mount != nil, rows.isEmpty { return #expect(status == 1 && result.errorText.contains("No space left"), scene) }
    #expect(rows.count == list.count && run.sumOfTotals == list.count && run.totals["urls"] == list.count, scene)
    for (outcome, rows) in Dictionary(grouping: rows, by: \.outcome) {
      #expect(run.totals[outcome.replacing("-", with: "_")] == rows.count, "\(scene): \(outcome)")
    }
    let isBroken = mount != nil && status == 1 && result.errorText.contains("no space left")
    let outcomes = Dictionary(grouping: rows, by: \.url)
    for (number, truth) in truths.enumerated() {
      let rows = outcomes[urls[number]] ?? []
      #expect(rows.count == list.count { $0 == number }, scene)
      let attempts = rows.filter { $0.shared != true }.reduce(0) { $0 + ($1.attempts ?? 0) }
      // libcurl repeats a request whose kept connection was closed before a response.
      let isExact = !wasStopped && (truth.isGood || truth == .gone || truth == .page)
      #expect(isExact ? requests[number] == attempts : requests[number] >= attempts, "\(scene): \(urls[number]) \(truth)")
      for row in rows where row.outcome != "cancelled" {
        #expect(truth == .flaky || (row.outcome != "failed") == truth.isGood, "\(scene): \(row)")
        guard truth == .flaky, row.outcome == "failed", row.shared != true else { continue }
        // A signal or a full disk ends the retries.
        let isStopped = if case .signal = incident { true } else { isBroken }
        #expect(row.attempts == retries + 1 || isStopped, "\(scene): \(row)")
      }
    }
    let isBad = rows.contains { $0.outcome == "failed" }
    let isCut = rows.contains { $0.outcome == "cancelled" }
    // Whatever else happens: the disk may have been filled before.
    if isBroken { return #expect(isCut, scene) }
    switch incident {
    case .signal(SIGINT) where isCut: #expect(status == 130, scene)
    case .signal(SIGTERM) where isCut: #expect(status == 143, scene)
    case .signal: #expect([0, 2, 130, 143].contains(status), scene)
    case .none, .clock, .fullDisk: #expect(!isCut && status == (isBad ? 2 : 0), scene)
    }
  }

  private func expectStored() async throws {
    // On a full disk there may be no cache.
    if reported.isEmpty { return }
    let listed = try await job.expectTrueTotals("--job", "job.yaml")
    let lost = reported.subtracting(listed.map(\.url))
    #expect(lost.isEmpty, "seed \(seed)")
    guard !clockWasWrong, let url = reported.sorted().randomElement(using: &random) else { return }
    let number = urls.firstIndex(of: url) ?? 0
    let stored = try await job.prewarm("cache get \(url) --job job.yaml")
    #expect(stored.output == SampleImages.jpeg(number, padding: truths[number] == .large ? 300_000 : 0), "seed \(seed): \(url)")
  }
}
