import ImageDownloading
import Base
import TestOrigin
import Testing

/// Bodies that are stopped by their first bytes.
struct EarlyRefusalTests {
  private static let html = ImageFailure(.notAnImage, message: "the body is HTML")
  private let log = JudgeLog()

  /// A rejection is final even if its failure claims to be transient.
  private var refusing: PrefixJudge {
    log.judge { _ in .refused(ImageFailure(.notAnImage, isTransient: true, message: Self.html.message)) }
  }

  @Test func `a body rejected by its first bytes stops there and fails once`() async throws {
    let body = pattern(8 << 20)
    let end = try await fetch(.body(body, type: "text/html"), .forTests(retries: 3, prefixJudge: refusing)).end
    #expect(end.failure == Self.html && end.summary.attempts == 1 && end.summary.receivedBytes < 128 << 10)
    try #require(log.questions.count == 1)
    let question = log.questions[0]
    #expect(question.prefix.count >= 512 && question.prefix == Array(body.prefix(question.prefix.count)))
    #expect(question.head == PrefixHead(contentType: "text/html", totalBytes: 8 << 20))
  }

  @Test(arguments: [0, 1, 511, 512, 5000])
  func `bodies below 512 bytes aren't judged early, and complete ones never`(count: Int) async throws {
    let end = try await fetch(.body(pattern(count)), .forTests(prefixJudge: refusing)).end
    #expect(end.image?.body == pattern(count) && end.image?.totalBytes == count && end.image?.isPrefix == false)
    #expect(log.lengths == [])
  }

  @Test func `the judge is called from 512 further bytes on`() async throws {
    let gate = Gate()
    let origin = try Origin(["/a": .paused(pattern(200_000), after: 511, gate), "/b": .stall(afterBytes: 512, declared: 200_000)])
    let fetcher = try Fetcher()
    let options = DownloadOptions.forTests(prefixJudge: refusing)
    fetcher.client.submit([Download(1, origin.url("/a"), options: options, wantsProgress: true)])
    try await fetcher.recorder.waitForEvent { if case .progress(_, 511, _) = $0 { true } else { false } }
    #expect(log.lengths == [])
    gate.open()
    #expect(try await fetcher.recorder.waitForEnds(1)[0].failure == Self.html)
    #expect(try await Fetcher().fetch(origin.url("/b"), options: options).failure == Self.html)
    #expect(log.lengths.last == 512)
  }

  @Test func `a judge that needs more is called again once those bytes have arrived`() async throws {
    // Each chunk arrives by itself.
    let body = Behaviour.chunked(Array(repeating: pattern(100), count: 100))
    let judge = log.judge { $0 < 5050 ? .needsMore(minimum: 5050) : .refused(Self.html) }
    #expect(try await fetch(body, .forTests(prefixJudge: judge)).end.failure == Self.html)
    #expect(log.lengths == [600, 5100])
  }

  @Test func `a judge that makes no progress gets at least 512 more bytes each time`() async throws {
    // Each chunk arrives by itself.
    let judge = log.judge { _ in .needsMore(minimum: 0) }
    let end = try await fetch(.chunked(Array(repeating: pattern(200), count: 100)), .forTests(prefixJudge: judge)).end
    #expect(end.image?.bodyBytes == 20_000)
    #expect(log.lengths.first == 600)
    #expect(zip(log.lengths, log.lengths.dropFirst()).allSatisfy { $1 - $0 == 600 })
  }

  @Test(arguments: [true, false])
  func `beyond 1 MiB or a streamed body's first chunk the judge isn't called`(isStreamed: Bool) async throws {
    let body = pattern(4 << 20)
    let judge = log.judge { .needsMore(minimum: $0 + 1) }
    let end = try await fetch(.body(body), .forTests(streamAbove: isStreamed ? 1000 : .max, prefixJudge: judge)).end
    #expect(end.image?.bodyBytes == 4 << 20 && end.image?.wasStreamed == isStreamed)
    let most = try #require(log.lengths.max())
    #expect(most <= (isStreamed ? 256 << 10 : 1 << 20) + (16 << 10) && most > 128 << 10)
    #expect(log.questions.allSatisfy { $0.prefix == Array(body.prefix($0.prefix.count)) })
  }

  @Test func `no chunk of a large body is delivered before the judge decides`() async throws {
    let origin = try Origin(["/a": .chunked([pattern(200_000), pattern(200_000), pattern(200_000)])])
    let judge = log.judge { $0 < 250_000 ? .needsMore(minimum: 250_000) : .refused(Self.html) }
    let fetcher = try Fetcher()
    let end = try await fetcher.fetch(origin.url("/a"), options: .forTests(streamAbove: 1000, prefixJudge: judge))
    #expect(end.failure == Self.html)
    #expect(fetcher.recorder.events.count == 1)
  }

  @Test func `an encoded body is judged decoded`() async throws {
    let body = [UInt8](repeating: 7, count: 300_000)
    let coded = Behaviour.body(try gzip(body), headers: ["Content-Encoding": "gzip"])
    #expect(try await fetch(coded, .forTests(prefixJudge: refusing)).end.failure == Self.html)
    let question = try #require(log.questions.first)
    #expect(question.prefix == Array(body.prefix(question.prefix.count)) && question.head.totalBytes == nil)
  }

  @Test func `errors, redirects, 304s and bodies for a decryptor aren't judged`() async throws {
    let page = pattern(40_000)
    let origin = try Origin([
      "/error": .status(404, body: page), "/unchanged": .status(304),
      "/moved": .status(302, headers: ["Location": "/small"], body: page), "/small": .body([1]), "/coded": .body(page),
    ])
    let options = DownloadOptions.forTests(prefixJudge: refusing)
    #expect(try await Fetcher().fetch(origin.url("/error"), options: options).failure?.status == 404)
    #expect(try await Fetcher().fetch(origin.url("/moved"), options: options).image?.body == [1])
    let validators = Validators(etag: "\"1\"")
    #expect(try await Fetcher().fetch(origin.url("/unchanged"), options: options, validators: validators).isNotModified)
    let decrypting = options.with { $0.decryptor = .not }
    #expect(try await Fetcher().fetch(origin.url("/coded"), options: decrypting).image?.body == page.map { ~$0 })
    #expect(log.lengths == [])
  }

  @Test func `each attempt is judged again`() async throws {
    let bodies = Behaviour.sequence([.cut(afterBytes: 5000, declared: 9000), .chunked([pattern(9000)])])
    let options = DownloadOptions.forTests(retries: 1, prefixJudge: log.judge { _ in .accepted })
    #expect(try await fetch(bodies, options).end.image?.bodyBytes == 9000)
    #expect(log.lengths.count == 2)
  }

  @Test func `a rejection reaches every waiter`() async throws {
    let origin = try Origin(["/a": .body(pattern(300_000))])
    let gate = origin.holdAll()
    let fetcher = try Fetcher()
    fetcher.submit([origin.url("/a"), origin.url("/a")], options: .forTests(prefixJudge: refusing))
    try await gate.waitForWaiting(1)
    gate.open()
    #expect(try await fetcher.recorder.waitForEnds(2).map(\.failure) == [Self.html, Self.html])
    #expect(origin.requests.count == 1 && log.lengths.count == 1)
  }

  @Test func `a rest of up to 64 KiB is read to reuse the connection; a larger one closes it`() async throws {
    let origin = try Origin(["/small": .body(pattern(60_000)), "/large": .body(pattern(2 << 20)), "/next": .body([1])])
    let urls = ["/small", "/next", "/large", "/next"].map { origin.url($0) }
    let ends = try await Fetcher(concurrency: 1).fetchInTurn(urls.map { ($0, .forTests(prefixJudge: refusing)) })
    #expect(ends.map { $0.failure == nil } == [false, true, false, true])
    #expect(origin.requests.map(\.connection) == [1, 1, 1, 2])
  }

  @Test func `a rest that doesn't arrive delays nothing`() async throws {
    let options = DownloadOptions.forTests(timeout: .seconds(600), stallTimeout: .seconds(600), prefixJudge: refusing)
    #expect(try await fetch(.stall(afterBytes: 20_000, declared: 60_000), options).end.failure == Self.html)
  }

  @Test func `the response head is reported before a rejection, and no progress of rejected bytes`() async throws {
    let origin = try Origin(["/a": .body(pattern(300_000))])
    let fetcher = try Fetcher()
    _ = try await fetcher.fetch(origin.url("/a"), options: .forTests(prefixJudge: refusing), wantsProgress: true)
    let heads = fetcher.recorder.events.compactMap { if case .response(_, let head) = $0 { head.status } else { nil } }
    #expect(heads == [200])
    let received = fetcher.recorder.events.compactMap { if case .progress(_, let count, _) = $0 { count } else { nil } }
    #expect(received.allSatisfy { $0 < 512 })
  }
}
