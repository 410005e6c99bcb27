import ImageCaching
import ImageCoding
import ImageDownloading
import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

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

  let gallery: Gallery
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
    gallery = try Gallery(concurrency: 8, options: .patient(requestModifier: numbering))
    var limits = DownloadLimits(concurrency: 8, perHost: 8)
    limits.threads = threads
    gallery.manager.downloader.setLimits(limits)
    gallery.origin.setFallback { request in
      guard let number = Int(request.path.drop { !$0.isNumber }.prefix { $0.isNumber }), !Self.isMissing(number) else {
        return .status(404)
      }
      let tag = "\"\(number)\""
      if request.headers["If-None-Match"] == tag { return .status(304, headers: ["ETag": tag]) }
      return .body(SampleImages.jpeg(number), type: "image/jpeg", headers: ["ETag": tag])
    }
    gate = gallery.origin.holdAll()
  }

  private typealias Started = (loads: [RandomLoad], prefetches: [RandomPrefetch])

  /// Makes `count` loads from four threads at once, and checks what they leave behind.
  func run(count: Int, _ random: inout SeededRandom, _ comment: Comment) async throws {
    gate.close()
    for number in 0..<Self.urlCount where Bool.random(using: &random) {
      try await gallery.manager.remove(gallery.url(number), from: Bool.random(using: &random) ? .all : .memory)
    }
    let seeds = (0..<4).map { _ in random.next() }
    let batch = RandomBatch(gallery.manager)
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
    var prefetches = [try RandomPrefetch(gallery, urls(12, &random), &random)]
    while loads.count < count {
      switch Int.random(in: 0..<12, using: &random) {
      case 0..<6: loads.append(RandomLoad(gallery, census, &random))
      // A third of all; ended ones are unaffected.
      case 6, 7: loads.randomElement(using: &random)?.cancel()
      case 8: loads.randomElement(using: &random)?.task.raisePriority(to: LoadPriority.allCases.randomElement(using: &random)!)
      case 9: gate.step(Int.random(in: 1...4, using: &random))
      case 10: try batch.ask(urls(8, &random))
      default:
        switch Int.random(in: 0..<16, using: &random) {
        case 0, 1: batch.cancel()
        case 2: prefetches.append(try RandomPrefetch(gallery, urls(20, &random), &random))
        case 3: prefetches.randomElement(using: &random)?.cancel()
        case 4: prefetches.randomElement(using: &random)?.pauseAndResume()
        default: break
        }
      }
    }
    return (loads, prefetches)
  }

  private func urls(_ count: Int, _ random: inout SeededRandom) -> [String] {
    (0..<count).map { _ in gallery.url(Int.random(in: 0..<Self.urlCount, using: &random)) }
  }

  private static func turn(of request: RecordedRequest) -> Int { request.headers[turnHeader].flatMap { Int($0) } ?? 0 }

  private func expectNothingLeft(_ loads: [RandomLoad], _ comment: Comment) async throws {
    let (manager, origin) = (gallery.manager, gallery.origin)
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
