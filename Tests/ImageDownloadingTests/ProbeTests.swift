import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

func probe(
  _ behaviour: Behaviour,
  retries: Int = 0,
  maxBytes: Int = 64 << 20,
  judge: PrefixJudge? = nil
) async throws -> (end: End, requests: [RecordedRequest]) {
  try await fetch(
    behaviour,
    .forTests(method: .probe, retries: retries, maxBytes: maxBytes, streamAbove: 1000, prefixJudge: judge)
  )
}

func ranges(_ requests: [RecordedRequest]) -> [String?] { requests.map { $0.headers["Range"] } }

/// Images of which only the beginning is requested.
struct ProbeTests {
  private static let step = DownloadOptions.probeBytes
  private let body = pattern(400_000)
  private let log = JudgeLog()

  // MARK: One request

  @Test func `a probe returns the first 64 KiB and the total length`() async throws {
    let behaviour = Behaviour.ranged(body, type: "image/png", headers: ["ETag": "\"1\""])
    let (end, requests) = try await probe(behaviour, judge: log.judge { _ in .accepted })
    let image = try #require(end.image)
    #expect(image.body == Array(body.prefix(Self.step)) && image.bodyBytes == Self.step)
    #expect(image.totalBytes == 400_000 && image.isPrefix && !image.wasStreamed)
    #expect(image.status == 206 && image.contentType == "image/png" && image.validators.etag == "\"1\"")
    #expect(end.summary.receivedBytes == UInt64(Self.step))
    #expect(ranges(requests) == ["bytes=0-65535"])
    try #require(log.questions.count == 1)
    #expect(log.questions[0].prefix == Array(body.prefix(Self.step)))
    #expect(log.questions[0].head == PrefixHead(contentType: "image/png", totalBytes: 400_000))
    #expect(requests.map { $0.headers["Accept-Encoding"] } == ["identity"] && requests.map { $0.headers["If-Range"] } == [nil])
  }

  @Test(arguments: [1, 65_535, 65_536])
  func `a body that fits is complete, whether or not the server supports ranges`(count: Int) async throws {
    let body = pattern(count)
    for behaviour in [Behaviour.ranged(body), .body(body), .chunked([body]), .noLength(body)] {
      let image = try #require(try await probe(behaviour, judge: log.judge { _ in .needsMore(minimum: 1 << 19) }).end.image)
      #expect(image.body == body && image.totalBytes == count && !image.isPrefix)
    }
    #expect(log.lengths == Array(repeating: count, count: 4))
    #expect(log.questions.allSatisfy { $0.head.isComplete && $0.head.totalBytes == count })
  }

  @Test func `a probe's rejection is permanent, and its connection is reused`() async throws {
    let failure = ImageFailure(.format, message: "it is a TIFF")
    let origin = try Origin(fallback: .ranged(body))
    let fetcher = try Fetcher(concurrency: 1)
    let options = DownloadOptions.forTests(method: .probe, retries: 2, prefixJudge: log.judge { _ in .refused(failure) })
    fetcher.submit([origin.url("/a"), origin.url("/b")], options: options)
    #expect(try await fetcher.recorder.waitForEnds(2).map(\.failure) == [failure, failure])
    #expect(origin.requests.map(\.connection) == [1, 1])
  }

  @Test func `a server may send less than requested, or no total length, but not less than it declares`() async throws {
    let less = try #require(try await probe(.part(0..<1000, of: body)).end.image)
    #expect(less.body == Array(body.prefix(1000)) && less.totalBytes == 400_000 && less.isPrefix)
    let unknown = try #require(try await probe(.part(0..<65_536, of: body, total: "*")).end.image)
    #expect(unknown.totalBytes == nil && unknown.isPrefix && unknown.bodyBytes == Self.step)
    #expect(try await probe(.cut(afterBytes: 1000, declared: 400_000, of: body)).end.failure?.kind == .truncated)
  }

  @Test func `the total length counts for max-bytes, declared or not`() async throws {
    for behaviour in [Behaviour.ranged(body), .body(body), .part(0..<65_536, of: body, total: "*"), .chunked([body])] {
      #expect(try await probe(behaviour, maxBytes: 50_000).end.failure?.kind == .tooLarge)
    }
    #expect(try await probe(.ranged(body), maxBytes: 399_999).end.failure?.message.contains("400000") == true)
    #expect(try await probe(.ranged(body), maxBytes: 400_000).end.failure == nil)
  }

  @Test func `a response with a wrong range fails as http-status`() async throws {
    let several = Behaviour.body(pattern(100), type: "multipart/byteranges; boundary=x", status: 206)
    let beyond = Behaviour.body(pattern(100), status: 206, headers: ["Content-Range": "bytes 0-9/400000"])
    for behaviour in [several, beyond, .part(1..<1000, of: body), .part(0..<1000, of: body, total: "x")] {
      let failure = try #require(try await probe(behaviour, retries: 1).end.failure)
      #expect(failure.kind == .httpStatus && failure.status == 206 && !failure.isTransient)
      expectGolden(failure.message)
    }
  }

  @Test func `an empty body is empty without a range, too; a 416 to both requests fails as http-status`() async throws {
    for behaviour in [Behaviour.ranged([]), .body([])] {
      let (end, requests) = try await probe(behaviour, judge: log.judge { _ in .accepted })
      let image = try #require(end.image)
      #expect(image.body.isEmpty && image.totalBytes == 0 && !image.isPrefix && image.status == 200)
      #expect(ranges(requests) == ["bytes=0-65535", nil])
    }
    #expect(log.lengths == [])
    for headers in [["Content-Range": "bytes */0"], ["Content-Range": "bytes */5"], [:]] as [HeaderFields] {
      #expect(try await probe(.status(416, headers: headers, body: [1, 2])).end.failure?.status == 416)
    }
  }

  // MARK: Confirmation

  private static let refusals: [Behaviour] =
    [204, 206, 400, 401, 403, 404, 405, 406, 407, 410, 412, 413, 414, 416, 421, 451, 500, 501].map { .status($0) }
    + ["bytes */400000", "bytes */0", "bytes 5-9/400000", "items 0-9/400000", ""].flatMap { range -> [Behaviour] in
      [206, 416].map { .status($0, headers: ["Content-Range": range], body: pattern(5)) }
    }
    + [
      .body(pattern(100), type: "multipart/byteranges; boundary=x", status: 206), .close, .reset, .redirect(to: "/a"),
      .cut(afterBytes: 0, declared: 100), .body([]), .body(pattern(100), headers: ["Content-Encoding": "gzip"]),
    ]

  @Test(arguments: refusals)
  func `a plain GET decides after a failed probe, and its server gets no further ranges`(refusal: Behaviour) async throws {
    let origin = try Origin(fallback: .computed { [body] in $0.headers["Range"] == nil ? .body(body) : refusal })
    let fetcher = try Fetcher(concurrency: 1)
    for end in try await fetcher.fetchAll([origin.url("/a"), origin.url("/b")], options: .forTests(method: .probe)) {
      #expect(end.image?.body == Array(body.prefix(Self.step)) && end.summary.attempts == 1, "\(end)")
      #expect(end.summary.receivedBytes <= UInt64(Self.step) + 128 << 10)
    }
    let plain = origin.requests.drop { $0.headers["Range"] != nil }
    #expect(plain.map { "\($0.method) \($0.path) \($0.headers["Range"] ?? "")" } == ["GET /a ", "GET /b "])
  }

  @Test(arguments: [Behaviour.status(502), .status(503), .reset(afterBytes: 9, declared: 99)])
  func `a failure that passes teaches nothing about a server`(failure: Behaviour) async throws {
    let origin = try Origin(fallback: .computed { [body] in $0.headers["Range"] == nil ? .body(body) : failure })
    let fetcher = try Fetcher(concurrency: 1)
    fetcher.submit([origin.url("/a"), origin.url("/b")], options: .forTests(method: .probe))
    #expect(try await fetcher.recorder.waitForEnds(2).allSatisfy { $0.image != nil && $0.summary.attempts == 1 })
    #expect(ranges(origin.requests) == ["bytes=0-65535", nil, "bytes=0-65535", nil])
  }

  @Test func `a confirmed failure names its request, and is retried without ranges`() async throws {
    let hold = HeaderFields([("Retry-After", "600")])
    for (behaviour, requests, attempts) in [
      (Behaviour.status(404), 2, 1), (.status(500), 4, 3), (.close, 4, 3), (.status(503, headers: hold), 1, 1),
      (.status(429, headers: hold), 1, 1),
    ] {
      let (end, all) = try await probe(behaviour, retries: 2)
      #expect(ranges(all) == ["bytes=0-65535"] + Array(repeating: nil, count: requests - 1))
      #expect(end.summary.attempts == attempts)
      expectGolden(try #require(end.failure).message.replacing(/127.0.0.1:\d+/, with: "HOST"))
    }
  }

  @Test func `failures of ranges don't stop requests to a host whose plain responses are good`() async throws {
    let origin = try Origin(fallback: .computed { $0.headers["Range"] == nil ? .body([1]) : .status(502) })
    let fetcher = try Fetcher(concurrency: 8, circuitBreaker: CircuitBreaker(failures: 2, batchTries: 1))
    fetcher.submit((0..<20).map { origin.url("/\($0)") }, options: .forTests(method: .probe))
    #expect(try await fetcher.recorder.waitForEnds(20).allSatisfy { $0.image?.body == [1] })
  }

  @Test func `206 counts as 200 and is rejected if 200 is not accepted, as is a GET's 200`() async throws {
    let origin = try Origin(["/a": .ranged(body)])
    let options = DownloadOptions.forTests(method: .probe, acceptStatus: [203])
    #expect(try await Fetcher().fetch(origin.url("/a"), options: options).failure?.status == 200)
  }

  @Test func `an encoded part is decoded and has no total length`() async throws {
    let coded = try gzip([UInt8](repeating: 7, count: 30_000))
    let headers: HeaderFields = ["Content-Encoding": "gzip"]
    let whole = try #require(try await probe(.ranged(coded, headers: headers)).end.image)
    #expect(whole.body == [UInt8](repeating: 7, count: 30_000) && whole.totalBytes == 30_000 && !whole.isPrefix)
    let judge = log.judge { _ in .needsMore(minimum: 1 << 19) }
    let (end, requests) = try await probe(.part(0..<coded.count - 10, of: coded, headers: headers), judge: judge)
    #expect(end.image?.totalBytes == nil && end.image?.isPrefix == true && end.image?.body.isEmpty == false)
    #expect(requests.count == 1)
  }

  @Test func `nginx serves probes and HEAD as expected`() async throws {
    let folder = TemporaryDirectory()
    folder.write(body, to: "a.png")
    folder.write([], to: "empty.png")
    let nginx = try await Nginx(serving: folder.path)
    let options = DownloadOptions.forTests(method: .probe, prefixJudge: log.wanting(100_000))
    let image = try #require(try await Fetcher().fetch(nginx.url("/a.png"), options: options).image)
    #expect(image.body == Array(body.prefix(2 * Self.step)) && image.totalBytes == 400_000 && image.contentType == "image/png")
    #expect(try await Fetcher().fetch(nginx.url("/empty.png"), options: options).image?.totalBytes == 0)
    #expect(try await Fetcher().fetch(nginx.url("/a.png"), options: .forTests(method: .head)).image?.totalBytes == 400_000)
    try await nginx.waitForRequests(5)
    let empty = "GET /empty.png 200"
    #expect(nginx.requests.sorted() == ["GET /a.png 206", "GET /a.png 206", empty, empty, "HEAD /a.png 200"])
  }

  // MARK: Servers that ignore ranges

  @Test(arguments: [true, false])
  func `a server that ignores ranges costs at most the prefix and 128 KiB`(isLengthKnown: Bool) async throws {
    let large = pattern(8 << 20)
    let (end, _) = try await probe(isLengthKnown ? .body(large) : .chunked([large]), judge: log.judge { _ in .accepted })
    let image = try #require(end.image)
    // Describing the difference of megabyte-sized arrays would take too long.
    try #require(image.bodyBytes == Self.step)
    #expect(image.body == Array(large.prefix(Self.step)) && image.isPrefix && image.status == 200)
    #expect(image.totalBytes == (isLengthKnown ? 8 << 20 : nil))
    #expect(end.summary.receivedBytes <= UInt64(Self.step) + 128 << 10)
    #expect(log.lengths == [Self.step])
  }

  @Test func `the judge gets more from the same response if the server ignores ranges`() async throws {
    let (end, requests) = try await probe(.body(body), judge: log.wanting(150_000))
    #expect(end.image?.body == Array(body.prefix(3 * Self.step)))
    #expect(log.lengths == [Self.step, 3 * Self.step] && requests.count == 1)
  }

  @Test func `a rejected response without a range is stopped`() async throws {
    let failure = ImageFailure(.notAnImage, message: "the body is HTML")
    let (end, _) = try await probe(.body(pattern(8 << 20)), judge: log.judge { _ in .refused(failure) })
    #expect(end.failure == failure && end.summary.receivedBytes <= UInt64(Self.step) + 128 << 10)
  }

  @Test func `a short rest of a response without a range is read to reuse the connection`() async throws {
    let origin = try Origin(fallback: .body(pattern(100_000)))
    let fetcher = try Fetcher(concurrency: 1)
    fetcher.submit([origin.url("/a"), origin.url("/b")], options: .forTests(method: .probe))
    #expect(
      try await fetcher.recorder.waitForEnds(2).allSatisfy { $0.image?.bodyBytes == Self.step && $0.image?.totalBytes == 100_000 }
    )
    #expect(origin.requests.map(\.connection) == [1, 1])
  }

  @Test func `a short rest that doesn't arrive delays nothing`() async throws {
    let origin = try Origin(["/a": .stall(afterBytes: 70_000, declared: 100_000)])
    let options = DownloadOptions.forTests(method: .probe, timeout: .seconds(600), stallTimeout: .seconds(600))
    #expect(try await Fetcher().fetch(origin.url("/a"), options: options).image?.bodyBytes == Self.step)
  }
}
