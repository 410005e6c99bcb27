import ImageCaching
import ImageDownloading
import ImageManaging
import Base
import TestOrigin
import TestSupport

/// A manager with its own cache and memory layer, and an origin that has an image at every `/N.jpg`.
struct Warehouse {
  let folder = TemporaryDirectory()
  let origin: Origin
  let memory = ImageMemory(pressure: nil)
  let cache: ImageCache
  let manager: ImageManager

  init(concurrency: Int = 16, retries: Int = 0) throws {
    origin = try Origin()
    origin.setFallback { request in
      let number = Int(request.path.drop { !$0.isNumber }.prefix { $0.isNumber })
      return number.map { .body(SampleImages.jpeg($0), type: "image/jpeg") } ?? .status(404)
    }
    cache = try ImageCache(ImageCache.Configuration(directory: folder.path))
    manager = try ImageManager(
      ImageManager.Configuration(
        cache: cache,
        memory: memory,
        downloader: ImageDownloader.Configuration(maxConcurrentDownloads: concurrency, maxConcurrentPerHost: concurrency),
        options: DownloadOptions {
          $0.timeout = .seconds(600)
          $0.stallTimeout = .seconds(600)
          $0.retries = retries
          $0.backoff = Backoff(initial: .zero, maximum: .zero)
        }
      )
    )
  }

  func prefetcher(
    maxConcurrent: Int = 4,
    destination: ImagePrefetcher.Destination = .disk
  ) throws -> ImagePrefetcher {
    try ImagePrefetcher(manager: manager, configuration: .init(maxConcurrent: maxConcurrent, destination: destination))
  }

  func url(_ number: Int) -> String { origin.url("/\(number).jpg") }

  func urls(_ numbers: Range<Int>) -> [String] { numbers.map { url($0) } }
}

/// A sequence that counts its elements read, and that a test can block.
struct WatchedRequests: Sequence, Sendable {
  private let requests: [ImageRequest]
  private let read = Watched(0)
  /// Called before each element.
  private let beforeEach: @Sendable (Int) -> Void

  init(_ urls: [String], beforeEach: @escaping @Sendable (Int) -> Void = { _ in }) {
    requests = urls.map { ImageRequest(url: $0) }
    self.beforeEach = beforeEach
  }

  /// The number of elements read.
  var readCount: Int { read.value }

  func waitForRead(_ count: Int) async throws { try await read.wait(for: "\(count) elements read") { $0 >= count } }

  struct Iterator: IteratorProtocol {
    fileprivate let sequence: WatchedRequests
    private var place = 0

    fileprivate init(_ sequence: WatchedRequests) { self.sequence = sequence }

    mutating func next() -> ImageRequest? {
      guard place < sequence.requests.count else { return nil }
      defer { place += 1 }
      sequence.read.withLock { $0 += 1 }
      sequence.beforeEach(place)
      return sequence.requests[place]
    }
  }

  func makeIterator() -> Iterator { Iterator(self) }
}

extension PrefetchProgress {
  init(loaded: Int = 0, alreadyCached: Int = 0, failed: Int = 0, cancelled: Int = 0) {
    self.init()
    (self.loaded, self.alreadyCached, self.failed, self.cancelled) = (loaded, alreadyCached, failed, cancelled)
    total = ended
  }
}
