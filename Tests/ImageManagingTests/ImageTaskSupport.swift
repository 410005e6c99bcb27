import Foundation
import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import Base
import Synchronization
import TestOrigin
import TestSupport

/// A manager with its own cache and memory layer, and an origin that has an image at every `/N.jpg`.
///
/// The manager lives as long as this and its loads.
struct Gallery {
  let folder: TemporaryDirectory
  let origin: Origin
  let memory = ImageMemory(pressure: nil)
  let cache: ImageCache
  let manager: ImageManager

  init(
    concurrency: Int = 6,
    transformer: (any ImageTransformer)? = nil,
    hooks: LoadHooks = LoadHooks(),
    options: DownloadOptions = .patient()
  ) throws {
    folder = TemporaryDirectory()
    origin = try Origin()
    origin.setFallback { request in
      let number = Int(request.path.drop { !$0.isNumber }.prefix { $0.isNumber })
      return number.map { .body(SampleImages.jpeg($0), type: "image/jpeg", headers: ["ETag": "\"\($0)\""]) } ?? .status(404)
    }
    cache = try ImageCache(ImageCache.Configuration(directory: folder.path))
    manager = try ImageManager(
      ImageManager.Configuration(
        cache: cache,
        memory: memory,
        downloader: ImageDownloader.Configuration(maxConcurrentDownloads: concurrency, maxConcurrentPerHost: concurrency),
        options: options,
        transformer: transformer,
        hooks: hooks
      )
    )
  }

  func url(_ number: Int) -> String { origin.url("/\(number).jpg") }

  func request(_ number: Int, _ mode: CacheMode = .use, priority: LoadPriority = .normal) -> ImageRequest {
    ImageRequest(url: url(number), cachePolicy: .init(mode: mode), priority: priority)
  }

  /// The requested paths, in order.
  var asked: [String] { origin.requests.map(\.path) }
}

extension DownloadOptions {
  /// Options with long time limits, as a busy machine may delay held requests.
  static func patient(
    requestModifier: RequestModifier? = nil,
    responseModifier: ResponseModifier? = nil
  ) -> DownloadOptions {
    DownloadOptions {
      $0.timeout = .seconds(600)
      $0.stallTimeout = .seconds(600)
      $0.retries = 0
      $0.requestModifier = requestModifier
      $0.responseModifier = responseModifier
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
