import Base
import Foundation
import ImageCaching
import ImageCoding
import ImageDownloading
import Synchronization
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

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
    let (folder, origin) = (loads!.album.folder, loads!.album.origin)
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

/// The number of living objects of a kind.
final class Census: Sendable {
  private let living = Atomic(0)
  var count: Int { living.load(ordering: .sequentiallyConsistent) }
  fileprivate func add(_ number: Int) { living.add(number, ordering: .sequentiallyConsistent) }
}

/// A transformer that marks the first byte of the pixels; each request has its own, so that leaked requests are counted.
final class Marker: ImageTransformer {
  /// Leaves the image unchanged.
  static let none: UInt8 = 0

  let mark: UInt8
  private let census: Census

  init(_ mark: UInt8, _ census: Census) {
    self.mark = mark
    self.census = census
    census.add(1)
  }

  deinit { census.add(-1) }

  var key: String { "mark(\(mark))" }

  func transform(_ image: DecodedImage) -> DecodedImage {
    guard mark != Self.none else { return image }
    var image = image
    image.pixels.bytes[0] = mark
    return image
  }
}

/// A manager under random loads.
final class RandomLoads: Sendable {
  static let urlCount = 50
  /// Every tenth URL is missing.
  static func isMissing(_ number: Int) -> Bool { number % 10 == 9 }

  let album: Album
  let census = Census()
  private let gate: Gate

  /// The order in which requests were sent; the origin may read one on a new connection after a later one on an old connection.
  private static let turnHeader = "X-Turn"

  /// With that number of threads that make transfers.
  init(threads: Int) throws {
    let turns = Mutex(0)
    let numbering = RequestModifier(name: "numbering") { request in
      let turn = turns.withLock { turn in
        turn += 1
        return turn
      }
      return DownloadRequest(url: request.url, headers: request.headers + [HeaderField(Self.turnHeader, "\(turn)")])
    }
    album = try Album(concurrency: 8, options: .patient { $0.requestModifier = numbering })
    var limits = DownloadLimits(concurrency: 8, perHost: 8)
    limits.threads = threads
    try album.manager.downloader.setLimits(limits)
    album.origin.setFallback { request in
      guard let number = Int(request.path.drop { !$0.isNumber }.prefix { $0.isNumber }), !Self.isMissing(number) else {
        return .status(404)
      }
      let tag = "\"\(number)\""
      if request.headers["If-None-Match"] == tag { return .status(304, headers: ["ETag": tag]) }
      return .body(SampleImages.jpeg(number), type: "image/jpeg", headers: ["ETag": tag])
    }
    gate = album.origin.holdAll()
  }

  private typealias Started = (loads: [RandomLoad], prefetches: [RandomPrefetch])

  /// Makes `count` loads from four threads at once, and checks what they leave behind.
  func run(count: Int, _ random: inout SeededRandom, _ comment: Comment) async throws {
    gate.close()
    for number in 0..<Self.urlCount where Bool.random(using: &random) {
      try await album.manager.remove(album.url(number), from: Bool.random(using: &random) ? .all : .memory)
    }
    let seeds = (0..<4).map { _ in random.next() }
    let batch = RandomBatch(album.manager)
    let (loads, prefetches) = try await withThrowingTaskGroup(of: Started.self) { group in
      for seed in seeds {
        group.addTask { try self.drive(count: count / seeds.count, seed: seed, batch) }
      }
      return try await group.reduce(into: Started([], [])) { all, some in
        all.loads += some.loads
        all.prefetches += some.prefetches
      }
    }
    gate.open()
    for load in loads { await load.expectItsEnd(comment) }
    for prefetch in prefetches { await prefetch.expectItsEnd(comment) }
    try await batch.expectItsEnd(comment)
    try await expectNothingLeft(loads, comment)
  }

  /// Starts loads and prefetches, cancels some earlier ones, and releases responses, in a random order.
  private func drive(count: Int, seed: UInt64, _ batch: RandomBatch) throws -> Started {
    var random = SeededRandom(seed: seed)
    var loads: [RandomLoad] = []
    var prefetches = [try RandomPrefetch(album, urls(12, &random), &random)]
    while loads.count < count {
      switch Int.random(in: 0..<12, using: &random) {
      case 0..<6: loads.append(RandomLoad(album, census, &random))
      // A third of all; ended ones are unaffected.
      case 6, 7: loads.randomElement(using: &random)?.cancel()
      case 8: loads.randomElement(using: &random)?.task.raisePriority(to: LoadPriority.allCases.randomElement(using: &random)!)
      case 9: gate.step(Int.random(in: 1...4, using: &random))
      case 10: try batch.ask(urls(8, &random))
      default:
        switch Int.random(in: 0..<16, using: &random) {
        case 0, 1: batch.cancel()
        case 2: prefetches.append(try RandomPrefetch(album, urls(20, &random), &random))
        case 3: prefetches.randomElement(using: &random)?.cancel()
        case 4: prefetches.randomElement(using: &random)?.pauseAndResume()
        default: break
        }
      }
    }
    return (loads, prefetches)
  }

  private func urls(_ count: Int, _ random: inout SeededRandom) -> [String] {
    (0..<count).map { _ in album.url(Int.random(in: 0..<Self.urlCount, using: &random)) }
  }

  private static func turn(of request: RecordedRequest) -> Int { request.headers[turnHeader].flatMap { Int($0) } ?? 0 }

  private func expectNothingLeft(_ loads: [RandomLoad], _ comment: Comment) async throws {
    let (manager, origin) = (album.manager, album.origin)
    try await poll("the end of all flights, \(comment)") { !manager.isRunning }
    try await poll("a downloader at rest, \(comment)") { manager.downloader.currentDownloadCount == 0 }
    try await origin.waitForInFlight(0)
    // An earlier request that is read later had been cancelled by then. So had requests without a response: another thread may request
    // again between a load's end and the end of its transfer.
    let twice = origin.overlaps.filter { Self.turn(of: $0.earlier) < Self.turn(of: $0.later) && origin.hasAnswered($0.earlier) }
    #expect(twice.isEmpty, "one image was requested twice at once, \(comment)")
    // The origin may read a request before it notices the disconnect of the client whose slot that used.
    #expect(manager.downloader.statistics.peakRunning <= 8, comment)
    // A waiter may get the end before it is counted.
    try await poll("every end to be counted, \(comment)") { loads.allSatisfy { $0.endCount > 0 } }
    #expect(loads.allSatisfy { $0.endCount == 1 }, comment)
  }
}

/// A single load of a random kind, with its possible outcomes.
final class RandomLoad: Sendable {
  let task: ImageTask
  private let number: Int
  private let marker: Marker
  private let ends = Atomic(0)
  private let isCancelled = Atomic(false)

  init(_ album: Album, _ census: Census, _ random: inout SeededRandom) {
    number = Int.random(in: 0..<RandomLoads.urlCount, using: &random)
    marker = Marker(UInt8.random(in: 0...2, using: &random), census)
    let mode = [CacheMode.use, .use, .use, .refresh, .only].randomElement(using: &random)!
    var request = album.request(number, mode, priority: LoadPriority.allCases.randomElement(using: &random)!)
    request.decoding.policy = [.eager, .eager, .eager, .lazy, .never].randomElement(using: &random)!
    request.decoding.includesData = Bool.random(using: &random)
    request.decoding.transformer = marker
    task = album.manager.load(request)
    task.outcome.whenSet { [self] _ in ends.add(1, ordering: .sequentiallyConsistent) }
  }

  var endCount: Int { ends.load(ordering: .sequentiallyConsistent) }

  private var wasCancelled: Bool { isCancelled.load(ordering: .sequentiallyConsistent) }

  func cancel() {
    isCancelled.store(true, ordering: .sequentiallyConsistent)
    task.cancel()
  }

  /// Waits for the end, and compares it with the request.
  func expectItsEnd(_ comment: Comment) async {
    switch await task.outcome() {
    case .success(let response):
      #expect(!RandomLoads.isMissing(number), comment)
      if let data = response.data { #expect(data == SampleImages.jpeg(number), comment) }
      let decoding = task.request.decoding
      #expect((response.image != nil) == (decoding.policy == .eager), comment)
      if let image = response.image, marker.mark != Marker.none { #expect(image.pixels.bytes[0] == marker.mark, comment) }
    case .failure(.cancelled): #expect(wasCancelled, comment)
    case .failure(.shutDown): Issue.record("nothing is shut down, \(comment)")
    case .failure(.notCached): #expect(task.request.cachePolicy.mode == .only, comment)
    case .failure(.failed(let failure)), .failure(.blacklisted(let failure)):
      #expect(RandomLoads.isMissing(number) && failure.status == 404, comment)
    case .failure(.declined): Issue.record("nothing should be rejected, \(comment)")
    }
  }
}

/// Batches of low-priority requests for the disk, like a prefetcher's, which are sometimes cancelled as a whole.
final class RandomBatch: LoadReceiver {
  private struct State {
    var asked: Int64 = 0
    var ends: [Int64: Int] = [:]
    var cancelled = 0
    var cancelCount = 0
  }

  private let manager: ImageManager
  private let request: ImageRequest
  private let state = Watched(State())

  init(_ manager: ImageManager) {
    self.manager = manager
    var request = ImageRequest(url: "")
    request.priority = .low
    request.decoding.policy = .never
    self.request = request
  }

  func complete(_ completions: [(Entry, LoadCompletion)]) {
    state.withLock { state in
      for (entry, completion) in completions {
        state.ends[entry.sequence, default: 0] += 1
        if completion.result.outcome == .cancelled { state.cancelled += 1 }
      }
    }
  }

  func ask(_ urls: [String]) throws {
    var batch = EntryBatch()
    for url in urls {
      let sequence = state.withLock { state in
        state.asked += 1
        return state.asked
      }
      var request = request
      request.url = url
      #expect(manager.append(request, sequence: sequence, to: &batch))
    }
    try manager.load(batch, context: manager.context(for: request), receiver: self) { complete([(batch.entry($0), $1)]) }
  }

  func cancel() {
    state.withLock { $0.cancelCount += 1 }
    manager.cancelAll(for: self, includingRunning: true)
  }

  /// Waits until every request has ended; each must end once, and as cancelled only if it was.
  func expectItsEnd(_ comment: Comment) async throws {
    try await state.wait(for: "the end of a batch, \(comment)") { $0.ends.count == $0.asked }
    let state = state.value
    #expect(state.ends.values.allSatisfy { $0 == 1 }, comment)
    #expect(state.cancelled == 0 || state.cancelCount > 0, comment)
  }
}

/// A batch of a prefetcher, to the disk or to memory.
struct RandomPrefetch {
  private let batch: PrefetchTask
  private let count: Int
  private let isCancelled = Watched(false)

  init(_ album: Album, _ urls: [String], _ random: inout SeededRandom) throws {
    let configuration = ImagePrefetcher.Configuration(
      concurrency: Int.random(in: 1...8, using: &random),
      destination: Bool.random(using: &random) ? .disk : .memory
    )
    count = urls.count
    batch = try ImagePrefetcher(manager: album.manager, configuration: configuration).prefetch(urls: urls)
  }

  func cancel() {
    isCancelled.withLock { $0 = true }
    batch.cancel()
  }

  func pauseAndResume() {
    batch.pause()
    batch.resume()
  }

  /// Waits for the end: each request counts once, and as cancelled only if it was.
  func expectItsEnd(_ comment: Comment) async {
    let result = await batch.value
    #expect(result.ended == result.total && result.total <= count, comment)
    if !isCancelled.value { #expect(result.total == count && result.cancelled == 0, comment) }
  }
}
