import PrewarmImages

/// A list of URLs.
func prefetchAll(_ manager: ImageManager, urls: [String]) async throws -> PrefetchProgress {
  // guide
  let prefetcher = try ImagePrefetcher(manager: manager)
  let batch = prefetcher.prefetch(urls: urls)
  let result = await batch.value
  print("\(result.loaded) loaded, \(result.alreadyCached) there already, \(result.failed) failed")
  // end
  return result
}

/// A sequence that is never an array, of requests with options of their own.
func prefetchSequence(_ manager: ImageManager, base: String) async throws -> PrefetchProgress {
  // guide
  let configuration = ImagePrefetcher.Configuration(concurrency: 64, destination: .memory)
  let prefetcher = try ImagePrefetcher(manager: manager, configuration: configuration)
  let pages = (1...10).lazy.map { ImageRequest(url: "\(base)/page-\($0).jpg", priority: .veryLow) }
  let batch = prefetcher.prefetch(pages) { request, result in
    if let failure = result.failure { print("\(request.url): \(failure.message)") }
  }
  let result = await batch.value
  // end
  return result
}

/// Controlling a batch.
func steer(_ manager: ImageManager, urls: [String]) async throws -> PrefetchProgress {
  // guide
  let batch = try ImagePrefetcher(manager: manager).prefetch(urls: urls)
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
