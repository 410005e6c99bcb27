import ImageCaching
import ImageDownloading
import ImageManaging
import Base

enum CacheBenchmarks {
  static var all: [Benchmark] {
    [
      lookUp("look-up-hits", 0..<ExampleCache.entries),
      lookUp("look-up-misses", ExampleCache.entries..<2 * ExampleCache.entries),
      lookUp("look-up-key-rule", 0..<ExampleCache.entries, suffix: "?utm_source=mail", keyRule: .droppingQuery(["utm_source"])),
      memory,
      commit,
    ]
  }

  /// Requests per batch: fewer than the prefetcher reads, so that a second thread never takes a part of them.
  private static let batch = 256

  private static func lookUp(_ name: String, _ numbers: Range<Int>, suffix: String = "", keyRule: KeyRule = .url) -> Benchmark {
    Benchmark(name: name, operations: numbers.count) { workspace in
      let cache = try ExampleCache.filled(in: workspace)
      let manager = try ImageManager(ImageManager.Configuration())
      var options = LoadOptions.standard
      (options.mode, options.keyRule) = (.only, keyRule)
      let context = LoadContext(cache: cache, download: .init(), options: options, startedAt: TimeSource.still.wall())
      let batches = try stride(from: numbers.lowerBound, to: numbers.upperBound, by: batch).map {
        try ExampleURLs($0..<$0 + batch, suffix: suffix)
      }
      let waiter = Waiter()
      return {
        var decided = 0
        for urls in batches { decided += try manager.decide(urls, context, waiter) }
        guard decided == numbers.count else { throw BenchmarkError(sentence: "\(name): only \(decided) were decided at once") }
      }
    }
  }

  private static var memory: Benchmark {
    Benchmark(name: "look-up-memory", operations: 4 * batch) { workspace in
      let cache = try ExampleCache.filled(in: workspace)
      let manager = try ImageManager(ImageManager.Configuration())
      var options = LoadOptions.standard
      (options.mode, options.memory) = (.only, ImageMemory(pressure: nil))
      let context = LoadContext(cache: cache, download: .init(), options: options, startedAt: TimeSource.still.wall())
      let urls = try ExampleURLs(0..<batch)
      let waiter = Waiter()
      let decided = try manager.decide(urls, context, waiter)
      waiter.wait(for: batch - decided)
      return {
        for _ in 0..<4 {
          let decided = try manager.decide(urls, context, waiter)
          guard decided == batch else { throw BenchmarkError(sentence: "look-up-memory: only \(decided) were in memory") }
        }
      }
    }
  }

  /// Storing new images, 256 per transaction.
  private static var commit: Benchmark {
    Benchmark(name: "commit", operations: 4_096) { workspace in
      let example = try ExampleCache("commits", in: workspace)
      let batches = try stride(from: 0, to: 8_192, by: ExampleCache.batch).map { try ExampleURLs($0..<$0 + ExampleCache.batch) }
      var half = 0
      return {
        for urls in batches[half..<half + batches.count / 2] { try example.store(urls) }
        half = batches.count / 2
      }
    }
  }
}

extension ImageManager {
  /// The number of a batch's requests that are decided immediately.
  fileprivate func decide(_ urls: ExampleURLs, _ context: LoadContext, _ waiter: Waiter) throws(CacheError) -> Int {
    var count = 0
    try load(urls.batch, context: context, receiver: waiter) { _, completion in
      keep(completion)
      count += 1
    }
    return count
  }
}

/// Counts requests that aren't decided immediately.
private final class Waiter: LoadReceiver {
  private let completed = WaitableState(0)

  func complete(_ completions: [(Entry, LoadCompletion)]) { completed.withLock(waking: .all) { $0 += completions.count } }

  func wait(for count: Int) { completed.wait { $0 >= count ? () : nil } }
}
