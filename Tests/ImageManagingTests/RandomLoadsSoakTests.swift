import Foundation
import ImageManaging
import TestOrigin
import TestSupport
import Testing

/// Random single loads, batches and prefetches, a third of them cancelled at random moments.
///
/// `scripts/soak loads` runs them with large counts, alone in their process and under the thread sanitizer.
@Suite(.serialized) struct RandomLoadsSoakTests {
  /// The numbers of a run; a failing test prints the seed.
  private enum Counts {
    /// Whether this is the only test of the process, so that the resources of the whole process can be checked.
    static let isLong = ProcessInfo.processInfo.environment["PREWARM_SOAK"] != nil
    static let loads = count("PREWARM_SOAK_LOADS", default: isLong ? 1_000 : 40)
    static let rounds = count("PREWARM_SOAK_ROUNDS", default: isLong ? 20 : 3)
    static let seed = UInt64(count("PREWARM_SOAK_SEED", default: 20_261_121))

    private static func count(_ variable: String, default count: Int) -> Int {
      ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? count
    }
  }

  @Test(arguments: [1, 2, 8])
  func `random loads end once each, share requests, get their images, and leave nothing behind`(threads: Int) async throws {
    var random = SeededRandom(seed: Counts.seed)
    // Creates what the process keeps permanently, before anything is counted.
    try await run(rounds: 1, threads: threads, &random)
    let before = try #require(ProcessUsage())
    try await run(rounds: Counts.rounds, threads: threads, &random)
    guard Counts.isLong else { return }
    try await poll("the end of our threads") { try ownThreads().isEmpty }
    try await poll("the closing of all descriptors") { try #require(ProcessUsage()).descriptors <= before.descriptors }
  }

  private func run(rounds: Int, threads: Int, _ random: inout SeededRandom) async throws {
    var loads: RandomLoads? = try RandomLoads(threads: threads)
    let (folder, origin) = (loads!.gallery.folder, loads!.gallery.origin)
    var resident: [Int] = []
    for round in 0..<rounds {
      let comment: Comment = "round \(round), seed \(Counts.seed)"
      try await loads!.run(count: Counts.loads, &random, comment)
      resident.append(ProcessUsage()?.residentBytes ?? 0)
    }
    let census = loads!.census
    loads = nil
    try await origin.waitForOpenConnections(0)
    try await poll("the end of all requests") { census.count == 0 }
    try await poll("the files to be closed") { try descriptors(below: folder.path).isEmpty }
    guard Counts.isLong, rounds > 5 else { return }
    #expect(resident[rounds - 1] - resident[4] < 96 << 20, "resident bytes after each round: \(resident)")
  }

  /// The threads of managers and prefetchers in this process, by name.
  private func ownThreads() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
      .compactMap { readFile("/proc/self/task/\($0)/comm") }
      .map { String(decoding: $0.dropLast(), as: UTF8.self) }
      .filter { name in ["store", "transfer", "coding-", "prefetch"].contains { name.hasPrefix($0) } }
  }
}
