import ImageCaching
import ImageDownloading
import ImageManaging
import ImagePrimitives
import ImageURLs
import Synchronization
import TestSupport
import Testing

/// A manager over a cache of its own, and who waits for what it loads.
final class Loader: LoadReceiver {
  let folder = TemporaryDirectory()
  let cache: ImageCache
  let clock = ManualClock()
  private let manager: ImageManager
  private let isShutDown = Atomic(false)
  private let completions = Watched<[LoadCompletion]>([])

  init(concurrency: Int = 8) throws {
    cache = try ImageCache(ImageCache.Configuration(directory: folder.path, time: clock.source))
    let downloader = ImageDownloader.Configuration(maxConcurrentDownloads: concurrency)
    manager = try ImageManager(ImageManager.Configuration(downloader: downloader))
  }

  deinit { shutDown() }

  /// Ends the manager's threads, once.
  func shutDown() {
    if !isShutDown.exchange(true, ordering: .relaxed) { manager.shutDown() }
  }

  func complete(_ completions: [LoadCompletion]) { self.completions.withLock { $0 += completions } }

  func context(
    mode: CacheMode = .use,
    verification: VerificationRules = VerificationRules(),
    blacklist: BlacklistRules = BlacklistRules()
  ) -> LoadContext {
    LoadContext(
      cache: cache,
      mode: mode,
      // What a test holds back may be held long on a busy machine.
      download: DownloadOptions(timeout: .seconds(600), stallTimeout: .seconds(600), retries: 0),
      verification: verification,
      blacklist: blacklist,
      startedAt: clock.source.wall()
    )
  }

  /// Asks for `urls`, numbered in order; what is decided at once completes like the rest.
  func ask(_ urls: [String], _ context: LoadContext) throws {
    var bytes: [UInt8] = []
    var requests: [LoadRequest] = []
    for (index, url) in urls.enumerated() {
      let offset = bytes.count
      let parts = try Array(url.utf8).withUnsafeBytes { try URLNormalizer().normalize($0, relativeTo: nil, into: &bytes) }
      requests.append(
        LoadRequest(
          id: UInt64(index),
          offset: offset,
          length: bytes.count - offset,
          parts: parts,
          priority: .normal,
          sequence: Int64(index)
        )
      )
    }
    try bytes.withUnsafeBytes { bytes in
      try manager.load(requests, in: bytes, context: context, receiver: self) { index, result in
        completions.withLock { $0.append(LoadCompletion(id: UInt64(index), result: result)) }
      }
    }
  }

  /// Waits for so many completions and takes them, by the number of their request.
  func results(_ count: Int) async throws -> [EntryResult] {
    try await completions.wait(for: "\(count) completions") { $0.count >= count }
    let taken = completions.withLock { all in
      defer { all = [] }
      return all
    }
    #expect(taken.count == count)
    return taken.sorted { $0.id < $1.id }.map(\.result)
  }

  /// Asks for one URL and waits for its result.
  func load(_ url: String, _ context: LoadContext? = nil) async throws -> EntryResult {
    try ask([url], context ?? self.context())
    return try await results(1)[0]
  }

  func cancelAll(includingRunning: Bool) { manager.cancelAll(for: self, includingRunning: includingRunning) }
}
