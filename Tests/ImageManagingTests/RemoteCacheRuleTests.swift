import ImageCaching
import ImageDownloading
@testable import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// The rule about the status of caches on the way.
@Suite struct RemoteCacheRuleTests {
  private let loader: Loader
  private let origin = try! Origin()

  init() throws { loader = try Loader() }

  private func context(mode: CacheMode = .use, requiresHit: Bool) -> LoadContext {
    LoadContext(
      cache: loader.cache,
      download: DownloadOptions {
        $0.timeout = .seconds(600)
        $0.stallTimeout = .seconds(600)
        $0.retries = 0
        $0.checksRemoteCache = true
      },
      options: LoadOptions(mode: mode, verification: VerificationRules(requiresRemoteHit: requiresHit)),
      startedAt: loader.clock.source.wall()
    )
  }

  /// Makes the origin respond to `path` with these headers the first time, and then with others.
  private func set(_ path: String, _ first: HeaderFields, _ second: HeaderFields) {
    let image = SampleImages.jpeg(1)
    origin.set(
      path,
      .sequence([.body(image, type: "image/jpeg", headers: first), .body(image, type: "image/jpeg", headers: second)])
    )
  }

  @Test func `a result reports the remote cache status, and cached images aren't checked`() async throws {
    set("/a.jpg", ["X-Cache": "MISS"], ["X-Cache": "HIT"])
    let first = try await loader.load(origin.url("/a.jpg"), context(requiresHit: true))
    #expect(first.outcome == .downloaded && first.remoteCache == .hit && first.attempts == 1)
    #expect(first.warnings == [])
    let second = try await loader.load(origin.url("/a.jpg"), context(requiresHit: true))
    #expect(second.outcome == .hitDisk && second.remoteCache == nil)
    #expect(origin.requests.count == 2)
  }

  @Test(
    arguments: [
      (HeaderFields([("X-Cache", "MISS from edge")]), RemoteCacheStatus.miss, "X-Cache: MISS from edge"),
      (HeaderFields(), .unknown, "no cache header"),
    ]
  )
  func `if a hit is required anything else fails, and is neither stored nor remembered`(
    headers: HeaderFields,
    status: RemoteCacheStatus,
    text: String
  ) async throws {
    set("/a.jpg", [:], headers)
    let result = try await loader.load(origin.url("/a.jpg"), context(requiresHit: true))
    #expect(result.outcome == .failed && result.remoteCache == status)
    #expect(result.failure?.kind == .remoteCache && result.failure?.isTransient == false)
    #expect(result.failure?.message.contains(text) == true, "\(result.failure?.message ?? "")")
    #expect(result.isBlacklisted == false)
    #expect(try loader.cache.totals().entries == 0)
    #expect(try await loader.load(origin.url("/a.jpg"), context(requiresHit: false)).outcome == .downloaded)
  }

  @Test func `a failed second request is a warning, and a failure only if a hit is required`() async throws {
    for path in ["/a.jpg", "/b.jpg"] {
      origin.set(path, .sequence([.body(SampleImages.jpeg(1), type: "image/jpeg"), .status(500)]))
    }
    let result = try await loader.load(origin.url("/a.jpg"), context(requiresHit: false))
    #expect(result.outcome == .downloaded && result.remoteCache == .unknown)
    #expect(result.warnings.count == 1)
    expectGolden(result.warnings.first)
    let failed = try await loader.load(origin.url("/b.jpg"), context(requiresHit: true))
    #expect(failed.failure?.kind == .remoteCache && failed.failure?.message.contains("500") == true)
  }

  @Test func `a body that isn't an image fails as such, whatever the remote cache status`() async throws {
    origin.set("/a.jpg", .body(Array("GIF, not".utf8), type: "image/jpeg", headers: ["X-Cache": "MISS"]))
    let result = try await loader.load(origin.url("/a.jpg"), context(requiresHit: true))
    #expect(result.failure?.kind == .notAnImage)
  }

  @Test func `a revalidated image is checked too, and stays if the rule is broken`() async throws {
    let image = SampleImages.jpeg(1)
    origin.set(
      "/a.jpg",
      .computed { request in
        let headers: HeaderFields = ["ETag": "\"1\"", "X-Cache": "MISS"]
        return request.headers["If-None-Match"] == nil
          ? .body(image, type: "image/jpeg", headers: headers) : .status(304, headers: headers)
      }
    )
    let url = origin.url("/a.jpg")
    #expect(try await loader.load(url, context(requiresHit: false)).remoteCache == .miss)
    let result = try await loader.load(url, context(mode: .refresh, requiresHit: false))
    #expect(result.outcome == .revalidated && result.remoteCache == .miss)
    let failed = try await loader.load(url, context(mode: .refresh, requiresHit: true))
    #expect(failed.failure?.kind == .remoteCache && failed.remoteCache == .miss)
    #expect(try await loader.load(url, context(requiresHit: true)).outcome == .hitDisk)
  }
}
