import Base
import Foundation
import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// A manager with its own cache and memory layer, and a server with images: `/a.jpg`, `/b.jpg`, and one at every `/N.jpg`.
///
/// The manager lives as long as this and its loads.
final class Album: Sendable {
  let folder = TemporaryDirectory()
  let clock = ManualClock()
  let origin: Origin
  let cache: ImageCache
  let memory: ImageMemory
  let manager: ImageManager

  /// Creates an album; `change` may edit the configuration.
  init(
    freshness: FreshnessRule = .age,
    concurrency: Int = 6,
    transformer: (any ImageTransformer)? = nil,
    hooks: LoadHooks = LoadHooks(),
    options: DownloadOptions = .patient(),
    _ change: (inout ImageManager.Configuration) -> Void = { _ in }
  ) throws {
    origin = try Origin()
    origin.setFallback { request in
      let number = Int(request.path.drop { !$0.isNumber }.prefix { $0.isNumber })
      return number.map { .body(SampleImages.jpeg($0), type: "image/jpeg", headers: ["ETag": "\"\($0)\""]) } ?? .status(404)
    }
    origin.set("/a.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg"))
    origin.set("/b.jpg", .body(SampleImages.jpeg(2), type: "image/jpeg"))
    cache = try ImageCache(ImageCache.Configuration(directory: folder.path, freshness: freshness, time: clock.source))
    memory = ImageMemory(maxCost: 10 << 20, pressure: nil)
    var configuration = ImageManager.Configuration(
      cache: cache,
      memory: memory,
      // With the same clock a response takes no time, which would count as its age.
      downloader: .init(limits: .init(concurrency: concurrency, perHost: concurrency), time: clock.source),
      options: options,
      transformer: transformer,
      hooks: hooks
    )
    change(&configuration)
    manager = try ImageManager(configuration)
  }

  /// An album like others; a test can do nothing without one.
  static func plain(concurrency: Int = 6) -> Album {
    do { return try Album(concurrency: concurrency) } catch { fatalError("\(error)") }
  }

  /// A versioned response, or a 304 to a request with that version.
  static func versioned(_ body: [UInt8], etag: String, type: String = "image/jpeg", headers: HeaderFields = [:]) -> Behaviour {
    .computed { request in
      var headers = headers
      headers.fields.append(("ETag", etag))
      if request.headers["If-None-Match"] == etag { return .status(304, headers: headers) }
      return .body(body, type: type, headers: headers)
    }
  }

  /// The requested paths, in order.
  var asked: [String] { origin.requests.map(\.path) }

  func url(_ path: String) -> String { origin.url(path) }

  func url(_ number: Int) -> String { origin.url("/\(number).jpg") }

  func urls(_ numbers: Range<Int>) -> [String] { numbers.map { url($0) } }

  func request(_ path: String, mode: CacheMode = .use, transformer: (any ImageTransformer)? = nil) -> ImageRequest {
    ImageRequest(url: url(path), cachePolicy: .init(mode: mode), decoding: .init(transformer: transformer))
  }

  func request(_ number: Int, _ mode: CacheMode = .use, priority: LoadPriority = .normal) -> ImageRequest {
    ImageRequest(url: url(number), cachePolicy: .init(mode: mode), priority: priority)
  }

  /// Loads an image and returns its source.
  func source(_ path: String, mode: CacheMode = .use) async throws -> ImageResponse.Source? {
    try await manager.response(for: request(path, mode: mode)).source
  }

  func prefetcher(concurrency: Int = 4, destination: ImagePrefetcher.Destination = .disk) throws -> ImagePrefetcher {
    try ImagePrefetcher(manager: manager, configuration: .init(concurrency: concurrency, destination: destination))
  }
}

extension DownloadOptions {
  /// Options with long time limits, as a busy machine may delay held requests, and without retries; `change` may edit them.
  static func patient(_ change: (inout DownloadOptions) -> Void = { _ in }) -> DownloadOptions {
    DownloadOptions {
      $0.timeout = .seconds(600)
      $0.stallTimeout = .seconds(600)
      $0.retries = 0
      change(&$0)
    }
  }

  /// The same with request headers, or without those whose value is nil.
  static func patient(headers: [(name: String, value: String?)]) -> DownloadOptions {
    .patient {
      $0.headers = headers.compactMap { header in header.value.map { HeaderField(header.name, $0) } }
      $0.removedHeaders = headers.filter { $0.value == nil }.map(\.name)
    }
  }
}

/// A manager that its own hook calls.
final class ManagerBox: Sendable {
  private let box = Mutex<ImageManager?>(nil)
  var manager: ImageManager? {
    get { box.withLock { $0 } }
    set { box.withLock { $0 = newValue } }
  }
}

/// A door that blocks a thread of the manager.
final class Door: Sendable {
  private let state = Watched((isOpen: false, arrivals: 0))

  /// Waits until the door is open.
  func pass() {
    state.withLock { $0.arrivals += 1 }
    do { try state.wait(for: "a door to be opened") { $0.isOpen } } catch { fatalError("\(error)") }
  }

  func open() { state.withLock { $0.isOpen = true } }

  func waitForArrival() async throws { try await state.wait(for: "somebody at the door") { $0.arrivals > 0 } }

  /// Passes the door with each image, which stays as it is.
  var transformer: ClosureTransformer {
    ClosureTransformer(key: "door") { image in
      self.pass()
      return image
    }
  }
}

extension Album {
  /// Starts a refresh of a cached image whose preview waits at the door.
  func refresh(_ number: Int, heldAt door: Door, priority: LoadPriority = .normal) async throws -> ImageTask {
    _ = try await manager.load(request(number)).value
    memory.removeAll()
    var refresh = request(number, .refresh, priority: priority)
    refresh.decoding.transformer = door.transformer
    let task = manager.load(refresh)
    try await door.waitForArrival()
    return task
  }
}

/// The descriptors of this process for files below `path`.
func descriptors(below path: String) throws -> [String] {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map { linkTarget("/proc/self/fd/\($0)") }
    .filter { $0.hasPrefix(path) }
}

/// The target of a symbolic link; empty if there is none.
func linkTarget(_ path: String) -> String {
  var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
  let count = target.withUnsafeMutableBytes { readlink(path, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count) }
  return String(decoding: target.prefix(max(0, count)), as: UTF8.self)
}

extension ImageTask {
  /// The image or the reason why there is none.
  func outcome() async -> Result<ImageResponse, ImageLoadError> {
    do throws(ImageLoadError) { return .success(try await value) } catch { return .failure(error) }
  }
}
