import Base
import TestOrigin
import Testing

@testable import ImageDownloading

/// Probes whose judge needs more than the first range.
struct ProbeContinuationTests {
  private static let step = DownloadOptions.probeBytes
  private let body = pattern(400_000)
  private let log = JudgeLog()

  @Test func `a judge that needs more gets further ranges of 64 KiB in the same attempt`() async throws {
    let (end, requests) = try await probe(.ranged(body, headers: ["ETag": "\"1\""]), judge: log.wanting(150_000))
    let image = try #require(end.image)
    #expect(image.body == Array(body.prefix(3 * Self.step)) && image.totalBytes == 400_000 && image.isPrefix)
    #expect(ranges(requests) == ["bytes=0-65535", "bytes=65536-196607"])
    #expect(requests.map { $0.headers["If-Range"] } == [nil, "\"1\""])
    #expect(end.summary.attempts == 1 && end.summary.receivedBytes == UInt64(3 * Self.step))
    #expect(log.lengths == [Self.step, 3 * Self.step])
    #expect(log.questions.last?.prefix == Array(body.prefix(3 * Self.step)))
  }

  @Test func `a body that ends within the further range is complete`() async throws {
    let image = try #require(try await probe(.ranged(body), judge: log.wanting(1 << 20)).end.image)
    #expect(image.body == body && image.totalBytes == 400_000 && !image.isPrefix)
    #expect(log.questions.map(\.head.isComplete) == [false, true])
  }

  @Test(arguments: [1 << 20, 1 << 20 | 1, Int.max])
  func `a judge that is never satisfied gets the whole body`(minimum: Int) async throws {
    let large = pattern(3 << 20)
    for behaviour in [Behaviour.ranged(large), .body(large)] {
      let (end, requests) = try await probe(behaviour, judge: JudgeLog().judge { _ in .needsMore(minimum: minimum) })
      let image = try #require(end.image)
      #expect(image.body == large && !image.isPrefix && requests.count <= 17)
    }
  }

  @Test func `a judge that names a later offset gets a part there, without the bytes between`() async throws {
    let large = pattern(3 << 20)
    let judge = log.judge { $0 < 2_500_000 ? .needsMore(minimum: 2_500_100, from: 2_500_000) : .accepted }
    let (end, requests) = try await probe(.ranged(large, headers: ["ETag": "\"1\""]), judge: judge)
    let image = try #require(end.image)
    #expect(ranges(requests) == ["bytes=0-65535", "bytes=2500000-2565535"])
    #expect(requests[1].headers["If-Range"] == "\"1\"")
    #expect(image.isPrefix && image.totalBytes == 3 << 20 && image.body == Array(large.prefix(Self.step)))
    #expect(image.pieces == [SparseFile.Piece(offset: 2_500_000, bytes: Array(large[2_500_000..<2_565_536]))])
    let judged = try #require(log.questions.last)
    #expect(judged.head.hasGaps && !judged.head.isComplete && judged.prefix.count == 2_565_536)
    #expect(judged.prefix.prefix(Self.step) == large.prefix(Self.step) && judged.prefix[2_499_999] == 0)
    #expect(judged.prefix.suffix(Self.step) == large[2_500_000..<2_565_536])
  }

  @Test func `several parts are kept, and the last one may end the file`() async throws {
    let judge = log.judge {
      $0 < 200_000 ? .needsMore(minimum: 200_000, from: 200_000) : .needsMore(minimum: 400_000, from: 399_000)
    }
    let (end, requests) = try await probe(.ranged(body), judge: judge)
    #expect(ranges(requests).prefix(3) == ["bytes=0-65535", "bytes=200000-265535", "bytes=399000-399999"])
    // The judge still asks for more, which only the rest of the beginning can be.
    #expect(ranges(requests).dropFirst(3) == ["bytes=65536-399999"])
    #expect(end.image?.body == body && end.image?.isPrefix == false && end.image?.pieces == [])
  }

  @Test func `a judge that needs all bytes after a jump gets them`() async throws {
    let judge = log.judge { $0 < 200_000 ? .needsMore(minimum: 200_000, from: 200_000) : .needsMore(minimum: 400_000) }
    let (end, requests) = try await probe(.ranged(body), judge: judge)
    #expect(ranges(requests) == ["bytes=0-65535", "bytes=200000-265535", "bytes=65536-399999"])
    #expect(end.image?.body == body)
  }

  @Test func `an image that changes before a jump is probed again`() async throws {
    let new = pattern(300_000).map { ~$0 }
    let behaviours = [Behaviour.ranged(body, headers: ["ETag": "\"1\""]), .ranged(new, headers: ["ETag": "\"2\""])]
    let judge = log.judge { $0 < 200_000 ? .needsMore(minimum: 200_000, from: 200_000) : .accepted }
    let image = try #require(try await probe(.sequence(behaviours), judge: judge).end.image)
    // The whole new image arrives, so the bytes between are there.
    #expect(image.pieces == [] && image.body.count >= 200_000 && image.body == Array(new.prefix(image.body.count)))
  }

  @Test func `a server without ranges sends what a judge needs`() async throws {
    let judge = log.judge { $0 < 200_000 ? .needsMore(minimum: 200_100, from: 200_000) : .accepted }
    let (end, requests) = try await probe(.body(body), judge: judge)
    #expect(requests.count == 1 && end.image?.pieces == [])
    #expect(end.image?.body == Array(body.prefix(4 * Self.step)))
  }

  @Test func `each further request makes progress, and there are few`() async throws {
    let small = Behaviour.computed { request in
      let first = Int(request.headers["Range"]?.split(separator: "=").last?.split(separator: "-").first ?? "") ?? 0
      return .part(first..<first + 10, of: pattern(400_000))
    }
    let (end, requests) = try await probe(small, judge: log.judge { _ in .needsMore(minimum: 0) })
    #expect(end.image?.body == Array(body.prefix(170)) && requests.count == 17)
    #expect(log.lengths == Array(stride(from: 10, through: 170, by: 10)))
  }

  @Test func `a changed image is restarted by a server that compares validators`() async throws {
    let new = pattern(300_000).map { ~$0 }
    let behaviours = [Behaviour.ranged(body, headers: ["ETag": "\"1\""]), .ranged(new, headers: ["ETag": "\"2\""])]
    let (end, requests) = try await probe(.sequence(behaviours), judge: log.wanting(100_000))
    let image = try #require(end.image)
    #expect(image.status == 200 && image.validators.etag == "\"2\"" && image.totalBytes == 300_000 && image.isPrefix)
    #expect(image.body == Array(new.prefix(2 * Self.step)))
    #expect(requests.count == 2 && log.questions.last?.prefix == Array(new.prefix(2 * Self.step)))
  }

  @Test(arguments: ["ETag", "Last-Modified", "X-None"])
  func `a changed image is truncated by a server that doesn't compare, and a retry restarts`(header: String) async throws {
    let new = header == "X-None" ? pattern(300_000) : body
    let first = Behaviour.part(0..<Self.step, of: body, headers: [header: "W/\"1\""])
    let second = Behaviour.part(Self.step..<2 * Self.step, of: new, headers: [header: "W/\"2\""])
    #expect(try await probe(.sequence([first, second]), judge: log.wanting(100_000)).end.failure?.kind == .truncated)
    let (end, requests) = try await probe(.sequence([first, second, .ranged(new)]), retries: 1, judge: log.wanting(100_000))
    #expect(end.image?.body == Array(new.prefix(2 * Self.step)) && end.summary.attempts == 2)
    #expect(ranges(requests).map { $0?.hasPrefix("bytes=0-") } == [true, false, true, false])
  }

  @Test func `a wrong further range fails as http-status`() async throws {
    let first = Behaviour.part(0..<Self.step, of: body)
    let coded = try gzip(pattern(70_000))
    let contentRange = "bytes \(Self.step)-\(Self.step + coded.count - 1)/400000"
    let codedPart = Behaviour.body(coded, status: 206, headers: ["Content-Range": contentRange, "Content-Encoding": "gzip"])
    for second in [first, .part(Self.step + 1..<2 * Self.step, of: body), codedPart] {
      let failure = try await probe(.sequence([first, second]), judge: log.wanting(100_000)).end.failure
      #expect(failure?.kind == .httpStatus && failure?.status == 206)
    }
  }

  @Test func `a body of unknown length is complete at its end, and any other 416 fails as http-status`() async throws {
    let first = Behaviour.part(0..<Self.step, of: body, total: "*")
    let end = { (total: Int) in Behaviour.status(416, headers: ["Content-Range": "bytes */\(total)"]) }
    let image = try #require(try await probe(.sequence([first, end(Self.step)]), judge: log.wanting(100_000)).end.image)
    #expect(image.body == Array(body.prefix(Self.step)) && image.totalBytes == Self.step && !image.isPrefix)
    for second in [end(10), .status(416)] {
      #expect(try await probe(.sequence([first, second]), judge: log.wanting(100_000)).end.failure?.status == 416)
    }
  }

  @Test(arguments: [403, 503]) func `a plain GET starts over after a failed further request`(status: Int) async throws {
    let behaviours = [Behaviour.ranged(body), .status(status), .ranged(body)]
    let (end, requests) = try await probe(.sequence(behaviours), judge: log.wanting(100_000))
    #expect(end.image?.body == Array(body.prefix(2 * Self.step)) && end.summary.attempts == 1)
    #expect(ranges(requests) == ["bytes=0-65535", "bytes=65536-131071", nil])
  }

  @Test func `further ranges are requested from the redirect target, without the origin's own headers`() async throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    origin.set("/a", .redirect(to: origin.url("/b", host: 1)))
    origin.set("/b", .sequence([.ranged(body), .redirect(to: "/c")]))
    origin.set("/c", .ranged(body))
    let options = DownloadOptions.forTests(
      method: .probe,
      headers: [("X-Token", "secret")],
      prefixJudge: log.wanting(100_000)
    )
    let image = try #require(try await Fetcher().fetch(origin.url("/a"), options: options).image)
    #expect(image.body == Array(body.prefix(2 * Self.step)) && image.finalURL == origin.url("/c", host: 1))
    #expect(origin.requests.map(\.path) == ["/a", "/b", "/b", "/c"])
    let (first, second) = ("bytes=0-65535", "bytes=65536-131071")
    #expect(ranges(origin.requests) == [first, first, second, second])
    #expect(origin.requests.map { $0.headers["X-Token"] } == ["secret", nil, nil, nil])
  }

  @Test func `only the first request is conditional`() async throws {
    let origin = try Origin(["/a": .ranged(body)])
    let options = DownloadOptions.forTests(method: .probe, prefixJudge: log.wanting(100_000))
    let end = try await Fetcher().fetch(origin.url("/a"), options: options, validators: Validators(etag: "\"old\""))
    #expect(end.image?.bodyBytes == 2 * Self.step)
    #expect(origin.requests.map { $0.headers["If-None-Match"] } == ["\"old\"", nil])
  }

  @Test func `headers and hooks cannot change the requested range, and hooks see it`() async throws {
    let origin = try Origin(["/a": .ranged(body, headers: ["ETag": "\"1\""])])
    let options = DownloadOptions {
      $0.method = .probe
      $0.headers = [.init("range", "bytes=5-6"), .init("Accept-Encoding", "gzip")]
      $0.requestModifier = RequestModifier(name: "copies") { request in
        var headers = request.headers.filter { $0.name != "If-Range" && $0.name != "Range" }
        headers.append(HeaderField("X-Range", request.headers.value(of: "Range") ?? ""))
        return DownloadRequest(url: request.url, headers: headers + [HeaderField("RANGE", "bytes=9-9")])
      }
      $0.purpose.prefixJudge = log.wanting(100_000)
    }
    #expect(try await Fetcher().fetch(origin.url("/a"), options: options).image?.bodyBytes == 2 * Self.step)
    let headers = origin.requests.map(\.headers)
    #expect(headers.map { $0.all("Range") } == [["bytes=0-65535"], ["bytes=65536-131071"]])
    #expect(headers.map { $0["X-Range"] } == ["bytes=0-65535", "bytes=65536-131071"])
    #expect(headers.map { $0.all("Accept-Encoding") } == [["identity"], ["identity"]])
    #expect(headers.map { $0["If-Range"] } == [nil, "\"1\""])
  }

  @Test func `a probe with a decryptor fetches the whole body`() async throws {
    let origin = try Origin(["/a": .ranged(body), "/b": .computed { $0.method == "HEAD" ? .status(405) : .ranged(body) }])
    for (path, method) in [("/a", DownloadOptions.Method.probe), ("/b", .head)] {
      let options = DownloadOptions.forTests(method: method).with { $0.decryptor = .not }
      let image = try #require(try await Fetcher().fetch(origin.url(path), options: options).image)
      #expect(image.body == body.map { ~$0 } && !image.isPrefix && image.totalBytes == body.count)
    }
  }

  @Test func `a response modifier changes the reported fields, not the bytes`() async throws {
    let origin = try Origin(["/a": .ranged(body)])
    let modifier = ResponseModifier(name: "plain") { _ in ResponseHead(status: 200) }
    let options = DownloadOptions.forTests(method: .probe, prefixJudge: log.wanting(100_000)).with {
      $0.responseModifier = modifier
    }
    let image = try #require(try await Fetcher().fetch(origin.url("/a"), options: options).image)
    #expect(image.status == 200 && image.body == Array(body.prefix(2 * Self.step)) && image.totalBytes == 400_000)
  }

  @Test func `a body fetched in two requests reports progress as one`() async throws {
    let origin = try Origin(["/a": .ranged(body)])
    let fetcher = try Fetcher()
    let options = DownloadOptions.forTests(method: .probe, prefixJudge: log.wanting(100_000))
    _ = try await fetcher.fetch(origin.url("/a"), options: options, wantsProgress: true)
    let events = fetcher.recorder.events
    #expect(events.count { if case .started = $0 { true } else { false } } == 1)
    #expect(events.count { if case .response = $0 { true } else { false } } == 1)
    let received = events.compactMap { if case .progress(_, let count, _) = $0 { count } else { nil } }
    #expect(received.first == 0 && received.last == 2 * Self.step && received == received.sorted())
  }

  @Test func `a continued probe can be cancelled`() async throws {
    let gate = Gate()
    let origin = try Origin(["/a": .sequence([.ranged(body), .held(gate, then: .ranged(body))])])
    let fetcher = try Fetcher()
    fetcher.submit([origin.url("/a")], options: .forTests(method: .probe, prefixJudge: log.wanting(100_000)))
    try await origin.waitForRequests(2)
    fetcher.client.cancel([1])
    #expect(try await fetcher.recorder.waitForEnds(1)[0].isCancelled)
    try await origin.waitForInFlight(0)
  }

  // MARK: Headers

  @Test(
    arguments: [
      (["ETag: \"1\""], "\"1\""), (["ETag: \"1\"", "Last-Modified: Sat, 21 Nov 2026 10:00:00 GMT"], "\"1\""),
      (["ETag: W/\"1\""], nil),
      (["ETag: W/\"1\"", "Last-Modified: Sat, 21 Nov 2026 10:00:00 GMT", "Date: Sat, 21 Nov 2026 11:00:00 GMT"], nil),
      (["Last-Modified: Sat, 21 Nov 2026 10:00:00 GMT", "Date: Sat, 21 Nov 2026 10:00:01 GMT"], "Sat, 21 Nov 2026 10:00:00 GMT"),
      (["Last-Modified: Sat, 21 Nov 2026 10:00:00 GMT", "Date: Sat, 21 Nov 2026 10:00:00 GMT"], nil),
      (["Last-Modified: Sat, 21 Nov 2026 10:00:00 GMT"], nil), (["ETag: \"\u{1}\""], nil),
    ]
  )
  func `If-Range contains a strong ETag, or else a strong date`(headers: [String], expected: String?) {
    var fields = ResponseFields()
    for header in headers { Array(header.utf8).withUnsafeBytes { fields.add($0) } }
    #expect(fields.rangeCondition == expected)
  }

  @Test(
    arguments: [
      ("bytes 0-65535/200000", 0..<65_536, 200_000), ("Bytes  5-5/*", 5..<6, nil), ("bytes */0", nil, 0), ("bytes */*", nil, nil),
    ] as [(String, Range<Int>?, Int?)]
  )
  func `Content-Range is parsed in each of its forms`(text: String, bytes: Range<Int>?, total: Int?) throws {
    let range = try #require(ContentRange(Array(text.utf8)[...]))
    #expect(range.bytes == bytes && range.total == total)
  }

  @Test(
    arguments: [
      "", "bytes", "bytes 0-1", "items 0-1/2", "bytes 1-0/2", "bytes 0-2/2", "bytes -1/2", "bytes 0-/2", "bytes +0-1/2",
      "bytes 0-1/2/3", "bytes 0-1-1/3", "bytes 0-9223372036854775807/*", "bytes 0-1/99999999999999999999", "bytes 0-1/",
    ]
  )
  func `an invalid Content-Range is ignored`(text: String) { #expect(ContentRange(Array(text.utf8)[...]) == nil) }
}
