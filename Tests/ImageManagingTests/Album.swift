import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// A manager with its own cache and memory layer, and a server with images.
final class Album {
  let folder = TemporaryDirectory()
  let clock = ManualClock()
  let origin: Origin
  let cache: ImageCache
  let memory: ImageMemory
  let manager: ImageManager

  /// Creates an album; `change` may edit the configuration.
  init(
    freshness: FreshnessRule = .age,
    minFresh: Duration = .zero,
    _ change: (inout ImageManager.Configuration) -> Void = { _ in }
  ) throws {
    origin = try Origin()
    origin.set("/a.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg"))
    origin.set("/b.jpg", .body(SampleImages.jpeg(2), type: "image/jpeg"))
    cache = try ImageCache(
      ImageCache.Configuration(directory: folder.path, freshness: freshness, minFresh: minFresh, time: clock.source)
    )
    memory = ImageMemory(maxCost: 10 << 20, pressure: nil)
    // With the same clock a response takes no time, which would count as its age.
    var configuration = ImageManager.Configuration(
      cache: cache,
      memory: memory,
      downloader: ImageDownloader.Configuration(time: clock.source),
      options: Self.patient()
    )
    change(&configuration)
    manager = try ImageManager(configuration)
  }

  /// Headers with long time limits, as a busy machine may delay held requests, and no retries.
  static func patient(_ headers: [(name: String, value: String?)] = []) -> DownloadOptions {
    DownloadOptions {
      $0.headers = headers.compactMap { header in header.value.map { HeaderField(header.name, $0) } }
      $0.removedHeaders = headers.filter { $0.value == nil }.map(\.name)
      $0.timeout = .seconds(600)
      $0.stallTimeout = .seconds(600)
      $0.retries = 0
    }
  }

  /// A versioned response, or a 304 to a request with that version.
  static func versioned(
    _ body: [UInt8],
    etag: String,
    type: String = "image/jpeg",
    headers: HeaderFields = [:]
  ) -> Behaviour {
    .computed { request in
      var headers = headers
      headers.fields.append(("ETag", etag))
      if request.headers["If-None-Match"] == etag { return .status(304, headers: headers) }
      return .body(body, type: type, headers: headers)
    }
  }

  func url(_ path: String) -> String { origin.url(path) }

  func request(_ path: String, mode: CacheMode = .use) -> ImageRequest {
    ImageRequest(url: url(path), cachePolicy: ImageRequest.CachePolicy(mode: mode))
  }

  /// Loads an image and returns its source.
  func source(_ path: String, mode: CacheMode = .use) async throws -> ImageResponse.Source? {
    try await manager.response(for: request(path, mode: mode)).source
  }
}
