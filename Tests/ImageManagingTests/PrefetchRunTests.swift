import ImageDownloading
@testable import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// A run with a real manager and a real server.
@Suite struct PrefetchRunTests {
  /// Provides URLs one by one, and records the outcomes.
  private final class List: PrefetchDelegate {
    let urls: [String]
    private let perBatch: Int
    private var next = 0
    var outcomes: [Int: [LoadOutcome]] = [:]
    /// Called when the run reports progress, with the number of entries read.
    var onProgress: (Int) -> Void = { _ in }

    init(_ urls: [String], perBatch: Int = 3) {
      self.urls = urls
      self.perBatch = perBatch
    }

    var sourceDescriptor: Int32? { nil }

    func read(_ batch: inout EntryBatch, maximum: Int) throws -> PrefetchSourceState {
      for index in next..<min(next + min(perBatch, maximum), urls.count) {
        let offset = batch.bytes.count
        let parts = try Array(urls[index].utf8).withUnsafeBytes {
          try URLNormalizer().normalize($0, relativeTo: nil, into: &batch.bytes)
        }
        batch.entries.append(BatchEntry(line: UInt64(index), parts: parts, requestRange: offset..<batch.bytes.count))
        next += 1
      }
      return next == urls.count ? .ended : .open
    }

    func finished(_ entry: Entry, _ completion: LoadCompletion) {
      #expect(entry.requestURL == Array(urls[Int(entry.line)].utf8))
      outcomes[Int(entry.line), default: []].append(completion.result.outcome)
    }

    func progressed() { onProgress(next) }

    /// The outcomes in order, exactly one per entry.
    var each: [LoadOutcome] {
      #expect(outcomes.count == urls.count && outcomes.values.allSatisfy { $0.count == 1 })
      return urls.indices.compactMap { outcomes[$0]?.first }
    }
  }

  private let origin: Origin
  private let manager: ImageManager
  private let context = LoadContext(
    cache: nil,
    download: DownloadOptions {
      $0.timeout = .seconds(600)
      $0.stallTimeout = .seconds(600)
      $0.retries = 0
    },
    options: LoadOptions(mode: .bypass),
    startedAt: Timestamp(milliseconds: 0)
  )

  init() throws {
    origin = try Origin()
    origin.setFallback { _ in .body(SampleImages.jpeg(1), type: "image/jpeg") }
    manager = try ImageManager(ImageManager.Configuration())
  }

  @Test func `every request ends exactly once, whatever the batches`() {
    let list = List((0..<50).map { origin.url("/\($0).jpg") } + [origin.url("/0.jpg")])
    let summary = PrefetchRun(manager: manager, context: context).run(list)
    #expect(summary.sourceEnded && !summary.deadlinePassed)
    #expect(list.each.allSatisfy { $0 == .checked })
    manager.shutDown()
  }

  @Test func `an empty list completes`() {
    #expect(PrefetchRun(manager: manager, context: context).run(List([])).sourceEnded)
    manager.shutDown()
  }

  @Test func `a run stopped before its start makes no request`() {
    let list = List([origin.url("/1.jpg")])
    let run = PrefetchRun(manager: manager, context: context)
    run.stop(gracefully: true)
    #expect(!run.run(list).sourceEnded)
    #expect(list.outcomes.isEmpty && origin.requests.isEmpty)
    manager.shutDown()
  }

  @Test func `a run stopped immediately cancels pending requests and ends`() {
    let gate = origin.holdAll()
    let list = List((0..<5).map { origin.url("/\($0).jpg") }, perBatch: 5)
    let run = PrefetchRun(manager: manager, context: context)
    list.onProgress = { read in if read == 5 { run.stop(gracefully: false) } }
    #expect(run.run(list).sourceEnded)
    #expect(list.each.allSatisfy { $0 == .cancelled })
    gate.open()
    manager.shutDown()
  }
}
