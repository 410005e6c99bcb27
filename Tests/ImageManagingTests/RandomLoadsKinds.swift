import ImageCaching
import ImageCoding
import ImageDownloading
import Base
import Synchronization
import TestSupport
import Testing

@testable import ImageManaging

/// A single load of a random kind, with its possible outcomes.
final class RandomLoad: Sendable {
  let task: ImageTask
  private let number: Int
  private let marker: Marker
  private let ends = Atomic(0)
  private let isCancelled = Atomic(false)

  init(_ gallery: Gallery, _ census: Census, _ random: inout SeededRandom) {
    number = Int.random(in: 0..<RandomLoads.urlCount, using: &random)
    marker = Marker(UInt8.random(in: 0...2, using: &random), census)
    let mode = [CacheMode.use, .use, .use, .refresh, .only].randomElement(using: &random)!
    var request = gallery.request(number, mode, priority: LoadPriority.allCases.randomElement(using: &random)!)
    request.decoding.policy = [.eager, .eager, .eager, .lazy, .never].randomElement(using: &random)!
    request.decoding.includesData = Bool.random(using: &random)
    request.decoding.transformer = marker
    task = gallery.manager.load(request)
    task.whenFinished { [self] _ in ends.add(1, ordering: .sequentiallyConsistent) }
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

  init(_ gallery: Gallery, _ urls: [String], _ random: inout SeededRandom) throws {
    let configuration = ImagePrefetcher.Configuration(
      maxConcurrent: Int.random(in: 1...8, using: &random),
      destination: Bool.random(using: &random) ? .disk : .memory
    )
    count = urls.count
    batch = try ImagePrefetcher(manager: gallery.manager, configuration: configuration).prefetch(urls: urls)
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
