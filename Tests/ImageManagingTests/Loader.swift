import Foundation
import ImageCaching
import ImageDownloading
@testable import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// A manager with its own cache, the receiver of its loads, and a server.
final class Loader: LoadReceiver {
  let folder = TemporaryDirectory()
  let cache: ImageCache
  let origin: Origin
  let clock = ManualClock()
  private let manager: ImageManager
  private let completions = Watched<[(Entry, LoadCompletion)]>([])

  init(concurrency: Int = 8, freshness: FreshnessRule = .age, minFresh: Duration = .zero) throws {
    origin = try Origin()
    cache = try ImageCache(
      ImageCache.Configuration(directory: folder.path, freshness: freshness, minFresh: minFresh, time: clock.source)
    )
    // With the same clock a response takes no time, which would count as its age.
    let downloader = ImageDownloader.Configuration(limits: .init(concurrency: concurrency), time: clock.source)
    manager = try ImageManager(ImageManager.Configuration(downloader: downloader))
  }

  /// A loader like others; a test can do nothing without one.
  static func plain() -> Loader {
    do { return try Loader() } catch { fatalError("\(error)") }
  }

  /// Ends the manager's threads and waits for them. Not in `deinit`: the last reference may be the store thread's.
  func shutDown() { manager.blocking.shutDown() }

  func complete(_ completions: [(Entry, LoadCompletion)]) { self.completions.withLock { $0 += completions } }

  /// A context with other options of downloads.
  func context(_ options: LoadOptions, _ change: (inout DownloadOptions) -> Void) -> LoadContext {
    LoadContext(cache: cache, download: .patient(change), options: options, startedAt: clock.source.wall())
  }

  func context(
    mode: CacheMode = .use,
    verification: VerificationRules = VerificationRules(),
    blacklist: BlacklistRules = BlacklistRules()
  ) -> LoadContext {
    context(LoadOptions(mode: mode, verification: verification, blacklist: blacklist))
  }

  func context(_ options: LoadOptions, headers: [(name: String, value: String?)] = []) -> LoadContext {
    LoadContext(cache: cache, download: .patient(headers: headers), options: options, startedAt: clock.source.wall())
  }

  /// Another receiver of a loader's requests.
  final class Waiter: LoadReceiver {
    private let taken = Watched<[(Entry, LoadCompletion)]>([])
    func complete(_ completions: [(Entry, LoadCompletion)]) { taken.withLock { $0 += completions } }

    /// Waits for `count` completions.
    func completions(_ count: Int) async throws -> [(Entry, LoadCompletion)] {
      try await taken.wait(for: "\(count) completions") { $0.count >= count }
      return taken.value
    }
  }

  /// Requests `urls`, numbered in order; entries decided at once complete like the others.
  func ask(_ urls: [String], _ context: LoadContext, variants: [UInt16] = [], as waiter: Waiter? = nil) throws {
    var batch = EntryBatch()
    for (index, url) in urls.enumerated() {
      try batch.append(url, variant: variants.isEmpty ? 0 : variants[index], sequence: Int64(index))
    }
    let receiver: any LoadReceiver = waiter ?? self
    try manager.load(batch, context: context, receiver: receiver) { receiver.complete([(batch.entry($0), $1)]) }
  }

  /// Waits for `count` completions and returns their results by the number of the request.
  func results(_ count: Int) async throws -> [EntryResult] {
    try await completions.wait(for: "\(count) completions") { $0.count >= count }
    let taken = completions.withLock { all in
      defer { all = [] }
      return all
    }
    #expect(taken.count == count)
    return taken.sorted { $0.0.sequence < $1.0.sequence }.map(\.1.result)
  }

  /// Requests one URL and waits for its result.
  func load(_ url: String, _ context: LoadContext? = nil) async throws -> EntryResult {
    try ask([url], context ?? self.context())
    return try await results(1)[0]
  }

  func cancelAll(includingRunning: Bool) { manager.cancelAll(for: self, includingRunning: includingRunning) }

  /// Changes bytes in the only large body of the cache.
  func damageBlob() throws { try ImageManagingTests.damageBlob(of: cache) }
}

extension EntryBatch {
  /// Adds a request for a URL.
  mutating func append(_ url: String, line: UInt64 = 0, variant: UInt16 = 0, sequence: Int64 = 0) throws {
    let offset = bytes.count
    let parts = try Array(url.utf8).withUnsafeBytes { try URLNormalizer().normalize($0, relativeTo: nil, into: &bytes) }
    let range = offset..<bytes.count
    entries.append(BatchEntry(line: line, variant: variant, sequence: sequence, parts: parts, requestRange: range))
  }
}

/// Changes bytes in the only large body of a cache.
func damageBlob(of cache: ImageCache) throws {
  let blobs = cache.path + "/blobs"
  let names = try #require(FileManager.default.subpaths(atPath: blobs)).filter { $0.contains("/") && !$0.hasPrefix("tmp") }
  let name = try #require(names.first)
  let handle = try #require(FileHandle(forUpdatingAtPath: "\(blobs)/\(name)"))
  try handle.seek(toOffset: 200_000)
  try handle.write(contentsOf: Data("damage".utf8))
  try handle.close()
}
