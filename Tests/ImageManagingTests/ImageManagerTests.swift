import ImageCaching
import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

@Suite struct ImageManagerTests {
  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }

  init() {
    loader.origin.set("/a.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg"))
  }

  @Test func `bypass neither reads nor writes cache and blacklist`() async throws {
    let context = loader.context(mode: .bypass)
    #expect(try await loader.load(origin.url("/a.jpg"), context).outcome == .checked)
    #expect(try await loader.load(origin.url("/no.jpg"), context).outcome == .failed)
    #expect(try await loader.load(origin.url("/no.jpg"), context).outcome == .failed)
    let totals = try loader.cache.totals()
    #expect(totals.entries == 0 && totals.blacklistEntries == 0)
    #expect(origin.requests.count == 3)
  }

  @Test func `each cancelled load completes once as cancelled`() async throws {
    let gate = origin.holdAll()
    let urls = (0..<30).map { origin.url("/\($0).jpg") }
    try loader.ask(urls, loader.context())
    try await gate.waitForWaiting(6)
    loader.cancelAll(includingRunning: true)
    #expect(try await loader.results(30).allSatisfy { $0.outcome == .cancelled })
    gate.open()
    #expect(try await loader.load(origin.url("/a.jpg")).outcome == .downloaded)
  }

  @Test func `cancelling only waiting loads lets running ones finish`() async throws {
    let gate = origin.holdAll()
    try loader.ask((0..<30).map { _ in origin.url("/a.jpg") } + (0..<30).map { origin.url("/\($0)") }, loader.context())
    try await gate.waitForWaiting(8)
    loader.cancelAll(includingRunning: false)
    gate.open()
    let results = try await loader.results(60)
    #expect(results[..<30].allSatisfy { $0.outcome == .downloaded })
    #expect(results[30...].count { $0.outcome == .failed } == 7)
    #expect(results[30...].count { $0.outcome == .cancelled } == 23)
  }

  @Test func `a damaged body is removed, reported and fetched again`() async throws {
    let large = SampleImages.jpeg(2, padding: 300_000)
    origin.set("/large.jpg", .body(large, type: "image/jpeg"))
    #expect(try await loader.load(origin.url("/large.jpg")).outcome == .downloaded)
    try loader.damageBlob()
    let context = loader.context(verification: VerificationRules(depth: .full))
    #expect(try await loader.load(origin.url("/large.jpg"), context).outcome == .downloaded)
    #expect(context.warnings.contains { $0.contains("damaged") })
    #expect(origin.requests.count == 2)
    #expect(try await loader.load(origin.url("/large.jpg"), context).outcome == .hitDisk)
  }

  @Test func `a blacklisted URL whose cached image breaks the rules isn't requested`() async throws {
    origin.set("/cut.jpg", .file(Fixtures.path("images/broken/cut.jpg")))
    let deep = VerificationRules(depth: .full)
    _ = try await loader.load(origin.url("/cut.jpg"))
    #expect(try await loader.load(origin.url("/cut.jpg"), loader.context(verification: deep)).outcome == .failed)
    #expect(try await loader.load(origin.url("/cut.jpg"), loader.context(verification: deep)).outcome == .blacklisted)
    // Other rules find the cached image.
    #expect(try await loader.load(origin.url("/cut.jpg")).outcome == .hitDisk)
    #expect(origin.requests.count == 2)
    origin.set("/cut.jpg", .body(SampleImages.jpeg(3), type: "image/jpeg"))
    let retry = loader.context(verification: deep, blacklist: BlacklistRules(retriesFailed: true))
    #expect(try await loader.load(origin.url("/cut.jpg"), retry).outcome == .downloaded)
    #expect(try loader.cache.totals().blacklistEntries == 0)
  }

  @Test func `pending verifications are dropped when their loads are cancelled, and each completes once`() async throws {
    origin.setFallback { _ in .body(Fixtures.bytes("images/good/photo.jpg"), type: "image/jpeg") }
    let urls = (0..<200).map { origin.url("/\($0).jpg") }
    try loader.ask(urls, loader.context())
    #expect(try await loader.results(200).allSatisfy { $0.outcome == .downloaded })
    try loader.ask(urls, loader.context(verification: VerificationRules(depth: .full)))
    loader.cancelAll(includingRunning: true)
    #expect(try await loader.results(200).allSatisfy { $0.outcome == .hitDisk || $0.outcome == .cancelled })
    #expect(origin.requests.count == 200)
  }
}
