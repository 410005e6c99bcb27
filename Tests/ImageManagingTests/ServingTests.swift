import Base
import Foundation
import ImageCaching
import ImageDownloading
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// Images that are served although something fails: the server, the disk, or the cache's folder.
@Suite struct ServingTests {
  private static func album(
    freshness: FreshnessRule = .http,
    staleIfError: Duration? = nil,
    maxBodyBytes: Int? = nil,
    folder: TemporaryDirectory = TemporaryDirectory(),
    clock: ManualClock = ManualClock(),
    warnings: Watched<[String]> = Watched([])
  ) throws -> (album: Album, cache: ImageCache) {
    let cache = try ImageCache(
      ImageCache.Configuration(
        directory: folder.path,
        maxAge: .seconds(100),
        maxBodyBytes: maxBodyBytes,
        freshness: freshness,
        staleIfError: staleIfError,
        time: clock.source
      )
    )
    let album = try Album {
      $0.cache = cache
      $0.memory = nil
      $0.downloader.time = clock.source
      $0.observers = [
        // The folder lives as long as the manager.
        ImageManager.Observer { [folder] event in
          _ = folder
          if case .warning(let sentence) = event { warnings.withLock { $0.append(sentence) } }
        }
      ]
    }
    return (album, cache)
  }

  // MARK: stale-if-error

  /// An image that expires after 100 seconds, and a failure at its revalidation.
  struct Outage: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var freshness = FreshnessRule.http
    var option: Duration?
    var header: String?
    var failure = Behaviour.status(503)
    /// The seconds from storing the image to the revalidation.
    var after = 150
    var mode = CacheMode.use
    let isServed: Bool
  }

  static let outages = [
    Outage(testDescription: "by header", header: "max-age=100, stale-if-error=60", isServed: true),
    Outage(testDescription: "by header, too late", header: "max-age=100, stale-if-error=60", after: 161, isServed: false),
    Outage(testDescription: "by header without max-age", header: "stale-if-error=60", isServed: true),
    Outage(testDescription: "the header doesn't count by age", freshness: .age, header: "stale-if-error=60", isServed: false),
    Outage(testDescription: "by option and age", freshness: .age, option: .seconds(60), isServed: true),
    Outage(testDescription: "by option, too late", freshness: .age, option: .seconds(60), after: 161, isServed: false),
    Outage(
      testDescription: "the longer time counts",
      option: .seconds(600),
      header: "max-age=100, stale-if-error=1",
      isServed: true
    ),
    Outage(testDescription: "neither", isServed: false),
    Outage(testDescription: "must-revalidate", option: .seconds(60), header: "max-age=100, must-revalidate", isServed: false),
    Outage(testDescription: "no-cache", option: .seconds(60), header: "no-cache", isServed: false),
    Outage(testDescription: "500", option: .seconds(60), failure: .status(500), isServed: true),
    Outage(testDescription: "502", option: .seconds(60), failure: .status(502), isServed: true),
    Outage(testDescription: "504", option: .seconds(60), failure: .status(504), isServed: true),
    Outage(testDescription: "501", option: .seconds(60), failure: .status(501), isServed: false),
    Outage(testDescription: "404", option: .seconds(60), failure: .status(404), isServed: false),
    Outage(testDescription: "410", option: .seconds(60), failure: .status(410), isServed: false),
    Outage(
      testDescription: "a reset connection",
      option: .seconds(60),
      failure: .reset(afterBytes: 0, declared: 10),
      isServed: true
    ),
    Outage(testDescription: "no image", option: .seconds(60), failure: .text("maintenance"), isServed: false),
    Outage(testDescription: "a refresh fails", option: .seconds(60), mode: .loaderOnly, isServed: false),
  ]

  @Test(arguments: outages) func `an expired image is served if its server is down`(outage: Outage) async throws {
    let clock = ManualClock()
    let (album, _) = try Self.album(freshness: outage.freshness, staleIfError: outage.option, clock: clock)
    var headers = HeaderFields()
    if let header = outage.header { headers.fields.append(("Cache-Control", header)) }
    let image = SampleImages.jpeg(1)
    album.origin.set("/x.jpg", .sequence([.body(image, type: "image/jpeg", headers: headers), outage.failure]))
    let request = album.request("/x.jpg", mode: outage.mode)
    #expect(try await album.manager.data(for: album.request("/x.jpg")).isStale == false)
    clock.advance(by: .seconds(outage.after))
    if outage.isServed {
      let response = try await album.manager.response(for: request)
      #expect(response.isStale && response.source == .disk && response.image != nil)
      #expect(response.result.outcome == .hitDisk && response.result.staleReason != nil && response.result.failure == nil)
      #expect(album.manager.statistics.stale == 1 && album.manager.statistics.failed == 0)
      let asked = album.asked.count
      // A hit that can't be revalidated starts no further request in the background.
      await album.manager.shutDown()
      #expect(album.asked.count == asked && asked == 2)
    } else {
      await #expect(throws: ImageLoadError.self) { try await album.manager.response(for: request) }
      #expect(album.manager.statistics.stale == 0)
    }
  }

  @Test func `an expired image doesn't wait for retries, and the server's return ends the use of it`() async throws {
    let clock = ManualClock()
    let (album, _) = try Self.album(staleIfError: .seconds(10_000), clock: clock)
    let image = SampleImages.jpeg(1)
    album.origin.set("/x.jpg", .sequence([.body(image, type: "image/jpeg"), .status(503), .body(image, type: "image/jpeg")]))
    _ = try await album.manager.data(for: album.url("/x.jpg"))
    clock.advance(by: .seconds(101))
    var request = album.request("/x.jpg")
    // With the test's clock, a retry would never come.
    request.options.retries = 5
    request.options.backoff = Backoff(initial: .seconds(1000), maximum: .seconds(1000))
    let stale = try await album.manager.data(for: request)
    #expect(stale.isStale && stale.bytes == image)
    #expect(album.asked.count == 2)
    // The host's pause for the retry is over.
    clock.advance(by: .seconds(2000))
    let fresh = try await album.manager.data(for: album.url("/x.jpg"))
    #expect(!fresh.isStale && fresh.source == .network)
    #expect(try await album.manager.data(for: album.url("/x.jpg")).source == .disk)
  }

  @Test func `a damaged copy isn't served instead of a failure, and a warmer reports the failure`() async throws {
    let (clock, folder) = (ManualClock(), TemporaryDirectory())
    let (album, cache) = try Self.album(staleIfError: .seconds(600), folder: folder, clock: clock)
    let image = SampleImages.jpeg(1, padding: 300_000)
    album.origin.set("/x.jpg", .sequence([.body(image, type: "image/jpeg"), .status(502)]))
    _ = try await album.manager.data(for: album.url("/x.jpg"))
    clock.advance(by: .seconds(101))
    let prefetch = try album.prefetcher().prefetch(urls: [album.url("/x.jpg")])
    #expect(await prefetch.value.failed == 1)
    let record = try #require(try await album.manager.record(for: album.request("/x.jpg")))
    let path = try #require(cache.bodyPath(of: record))
    try Data(image.dropLast()).write(to: URL(fileURLWithPath: path))
    await #expect(throws: ImageLoadError.self) { try await album.manager.data(for: album.url("/x.jpg")) }
    #expect(try cache.totals().entries == 0)
  }

  // MARK: A full disk

  /// Limits the size of files of this process, which has the same effect as a full disk: writes fail with EFBIG.
  private static func limitFiles(to byteCount: UInt) {
    signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit(rlim_cur: byteCount, rlim_max: byteCount)
    precondition(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
  }

  @Test func `on a full disk images are delivered without being stored, unless the caller wants them stored`() async throws {
    await #expect(processExitsWith: .success) {
      let warnings = Watched<[String]>([])
      let (album, cache) = try ServingTests.album(warnings: warnings)
      album.origin.setFallback { request in
        let number = Int(request.path.drop { !$0.isNumber }.prefix { $0.isNumber }) ?? 0
        return .jpeg(number, padding: number == 0 ? 5 << 20 : 100_000)
      }
      ServingTests.limitFiles(to: 2 << 20)
      var unstored = 0
      for number in 1...40 {
        let response = try await album.manager.response(for: album.request("/\(number).jpg"))
        #expect(response.image != nil && response.source == .network)
        guard let failure = response.result.storeFailure else { continue }
        #expect(failure.kind == .cacheWrite && response.result.outcome == .checked && response.result.failure == nil)
        unstored += 1
      }
      #expect(unstored > 10 && album.manager.statistics.unstored == unstored)
      #expect(warnings.value.count == 1 && warnings.value[0].contains("without being stored"), "\(warnings.value)")
      // A large image whose file can't be written while it arrives.
      let large = SampleImages.jpeg(0, padding: 5 << 20)
      #expect(try await album.manager.data(for: album.url("/0.jpg")).bytes == large)
      let file = try await album.manager.file(for: album.url("/0.jpg"))
      #expect(file.byteCount == large.count && file.path == nil)

      var strict = album.request("/50.jpg")
      strict.cachePolicy.requiresStoring = true
      let failed = await album.manager.load(strict).outcome()
      guard case .failure(.failed(let failure)) = failed else { fatalError("\(failed)") }
      #expect(failure.kind == .cacheWrite)
      let prefetch = try album.prefetcher().prefetch(urls: [album.url("/51.jpg")])
      #expect(await prefetch.value.failed == 1)
      let totals = try cache.totals()
      #expect(try totals.entries == 40 - unstored && cache.verify().damaged == 0)
    }
  }

  @Test func `on a full disk the oldest images make room if the cache has a limit`() async throws {
    await #expect(processExitsWith: .success) {
      let clock = ManualClock()
      let (album, cache) = try ServingTests.album(maxBodyBytes: 1 << 30, clock: clock)
      album.origin.setFallback { request in
        .jpeg(Int(request.path.drop { !$0.isNumber }.prefix { $0.isNumber }) ?? 0, padding: 100_000)
      }
      ServingTests.limitFiles(to: 3 << 20)
      for number in 1...100 {
        let response = try await album.manager.response(for: album.request("/\(number).jpg"))
        #expect(response.result.outcome == .downloaded && response.result.storeFailure == nil)
        clock.advance(by: .milliseconds(10))
      }
      #expect(
        try album.manager.blocking.isOnDisk(album.url("/1.jpg")) == false
          && album.manager.blocking.isOnDisk(album.url("/100.jpg"))
      )
      #expect(try cache.totals().entries > 5 && album.manager.statistics.trimmed > 50)
    }
  }
}
