import ImageManaging
import ImagePrefetching
import ImagePrimitives

/// A list of URLs.
func prefetchAll(_ manager: ImageManager, urls: [String]) async -> PrefetchProgress {
  // guide
  let prefetcher = ImagePrefetcher(manager: manager)
  let batch = prefetcher.prefetch(urls: urls)
  let result = await batch.value
  print("\(result.loaded) loaded, \(result.alreadyCached) there already, \(result.failed) failed")
  // end
  return result
}

// guide
/// The pages of a catalogue, one by one.
struct Pages: Sequence, IteratorProtocol, Sendable {
  let base: String
  let count: Int
  private var number = 0

  init(base: String, count: Int) { (self.base, self.count) = (base, count) }

  mutating func next() -> ImageRequest? {
    guard number < count else { return nil }
    number += 1
    return ImageRequest(url: "\(base)/page-\(number).jpg", priority: .veryLow)
  }
}
// end

/// A sequence that is never an array, of requests with options of their own.
func prefetchSequence(_ manager: ImageManager, base: String) async -> PrefetchProgress {
  // guide
  let configuration = ImagePrefetcher.Configuration(maxConcurrent: 64, destination: .memory)
  let prefetcher = ImagePrefetcher(manager: manager, configuration: configuration)
  let result = await prefetcher.prefetch(Pages(base: base, count: 10)).value
  // end
  return result
}

/// A batch as a token.
func steer(_ manager: ImageManager, urls: [String]) async -> PrefetchProgress {
  // guide
  let batch = ImagePrefetcher(manager: manager).prefetch(urls: urls)
  batch.pause()
  batch.resume()
  for await progress in batch.progress {
    print("\(progress.ended) of \(progress.total)")
    if progress.failed > 100 { batch.cancel() }
  }
  let result = await batch.value
  // end
  return result
}
