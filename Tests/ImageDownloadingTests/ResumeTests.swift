import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

/// Bodies that break off, and retries that resume them.
struct ResumeTests {
  private static let strong: HeaderFields = ["ETag": "\"1\"", "Accept-Ranges": "bytes", "Content-Type": "image/png"]
  /// The bytes that a request repeats.
  private static let seam = BodyContinuation.seamBytes
  private let body = pattern(900_000)

  /// The range that resumes at an offset.
  private func range(_ offset: Int) -> String { "bytes=\(offset - Self.seam)-" }

  /// The outcome of one download: its end, its chunks joined, whether they were ever void, and the requests.
  private struct Outcome {
    var end: End
    var body: [UInt8]?
    var restarts: Int
    var requests: [RecordedRequest]
    var ranges: [String?] { requests.map { $0.headers["Range"] } }
    var conditions: [String?] { requests.map { $0.headers["If-Range"] } }
  }

  private func fetch(_ behaviours: [Behaviour], options: DownloadOptions = .forTests(retries: 3)) async throws -> Outcome {
    let origin = try Origin(["/a": .sequence(behaviours)])
    let fetcher = try Fetcher()
    let end = try await fetcher.fetch(origin.url("/a"), options: options)
    let restarts = fetcher.recorder.events.count { if case .restarted = $0 { true } else { false } }
    return Outcome(end: end, body: fetcher.recorder.body(of: end), restarts: restarts, requests: origin.requests)
  }

  @Test(
    arguments: [4097, 5000, 65_536, 131_072, 131_073, 262_144, 400_000, 899_999],
    [128 << 10, Int.max]
  )
  func `a retry resumes a broken-off body, whole or streamed, and counts every byte once`(offset: Int, streamAbove: Int)
    async throws
  {
    let ranged = Behaviour.ranged(body, headers: Self.strong)
    let options = DownloadOptions.forTests(retries: 1, streamAbove: streamAbove)
    let outcome = try await fetch([ranged.brokenOff(afterBytes: offset), ranged], options: options)
    #expect(outcome.body == body && outcome.restarts == 0)
    #expect(outcome.ranges == [nil, range(offset)] && outcome.conditions == [nil, "\"1\""])
    let image = try #require(outcome.end.image)
    #expect(image.status == 200 && image.contentType == "image/png" && image.validators.etag == "\"1\"" && !image.isPrefix)
    #expect(image.totalBytes == body.count && image.bodyBytes == body.count)
    #expect(image.summary.attempts == 2 && image.summary.receivedBytes == UInt64(body.count + Self.seam))
  }

  @Test(arguments: [1, 1000, 4096])
  func `a body that breaks off within its first bytes starts over`(offset: Int) async throws {
    let ranged = Behaviour.ranged(body, headers: Self.strong)
    let outcome = try await fetch([ranged.brokenOff(afterBytes: offset), ranged])
    #expect(outcome.body == body && outcome.ranges == [nil, nil])
  }

  @Test(arguments: [5000, 600_000])
  func `fields missing in a part keep their value from the first response`(offset: Int) async throws {
    let first = Behaviour.ranged(
      body,
      type: "image/webp",
      headers: ["ETag": "\"1\"", "Accept-Ranges": "bytes", "Vary": "Accept"]
    )
    // Some servers omit the entity tag too; the length and the bytes show the version.
    let rest = Behaviour.part(offset - Self.seam..<body.count, of: body)
    let options = DownloadOptions.forTests(retries: 1).with { $0.acceptContentTypes = ["image/webp"] }
    let outcome = try await fetch([first.brokenOff(afterBytes: offset), rest], options: options)
    #expect(outcome.body == body && outcome.restarts == 0)
    let image = try #require(outcome.end.image)
    #expect(
      image.contentType == "image/webp" && image.validators.etag == "\"1\"" && image.vary == "Accept" && image.status == 200
    )
  }

  @Test(arguments: ["900000", "*"]) func `a part that ends early is resumed in turn`(total: String) async throws {
    let first = Behaviour.ranged(body, headers: Self.strong).brokenOff(afterBytes: 300_000)
    let second = Behaviour.part(300_000 - Self.seam..<500_000, of: body, total: total, headers: Self.strong)
    let outcome = try await fetch([first, second, .ranged(body, headers: Self.strong)])
    #expect(outcome.body == body && outcome.restarts == 0 && outcome.ranges == [nil, range(300_000), range(500_000)])
  }

  @Test(arguments: [BreakOff.close, .reset]) func `a body is resumed as often as retries allow`(way: BreakOff) async throws {
    let part = Behaviour.ranged(body, headers: Self.strong).brokenOff(afterBytes: 250_000, by: way)
    let outcome = try await fetch([part], options: .forTests(retries: way == .close ? 3 : 200))
    #expect(outcome.body == body && outcome.restarts == 0)
    if way == .close { #expect(outcome.ranges == [nil, "bytes=245904-", "bytes=491808-", "bytes=737712-"]) }
  }

  @Test func `a stalled body is resumed`() async throws {
    let ranged = Behaviour.ranged(body, headers: Self.strong)
    for options in [
      DownloadOptions.forTests(stallTimeout: .milliseconds(200), retries: 1), .forTests(timeout: .seconds(1), retries: 1),
    ] {
      let outcome = try await fetch([ranged.brokenOff(afterBytes: 300_000, by: .stall), ranged], options: options)
      #expect(outcome.body == body && outcome.ranges == [nil, range(300_000)])
    }
  }

  @Test func `a body without a declared length is resumed`() async throws {
    let chunked = Behaviour.chunked([Array(body.prefix(300_000)), Array(body.dropFirst(300_000))], headers: Self.strong)
    // The first chunk is preceded by a line of six bytes.
    let outcome = try await fetch([chunked.brokenOff(afterBytes: 200_007), .ranged(body, headers: Self.strong)])
    #expect(outcome.body == body && outcome.ranges == [nil, range(200_000)])
  }

  @Test(arguments: [1000, 300_000]) func `a body requested with a custom Range is requested again`(offset: Int) async throws {
    let ranged = Behaviour.ranged(body, headers: Self.strong)
    let options = DownloadOptions.forTests(headers: [("Range", "bytes=100-599999")], retries: 1, acceptStatus: [206])
    let outcome = try await fetch([ranged.brokenOff(afterBytes: offset), ranged], options: options)
    #expect(outcome.body == Array(body[100..<600_000]))
    #expect(outcome.ranges == ["bytes=100-599999", "bytes=100-599999"] && outcome.conditions == [nil, nil])
  }

  @Test func `a strong date serves as the condition`() async throws {
    let date = "Sat, 21 Nov 2026 10:00:00 GMT"
    let headers: HeaderFields = ["Last-Modified": date, "Date": "Sat, 21 Nov 2026 11:00:00 GMT", "Accept-Ranges": "bytes"]
    let ranged = Behaviour.ranged(body, headers: headers)
    let outcome = try await fetch([ranged.brokenOff(afterBytes: 5000), ranged])
    #expect(outcome.body == body && outcome.conditions == [nil, date])
  }

  @Test(
    arguments: [
      ["ETag": "W/\"1\"", "Accept-Ranges": "bytes"], ["Accept-Ranges": "bytes"], ["ETag": "\"1\""],
      ["ETag": "\"1\"", "Accept-Ranges": "none"], ["Last-Modified": "Sat, 21 Nov 2026 10:00:00 GMT", "Accept-Ranges": "bytes"],
    ] as [HeaderFields],
    [1000, 600_000]
  )
  func `without a strong validator or ranges, or if encoded, a retry restarts`(headers: HeaderFields, offset: Int) async throws {
    let ranged = Behaviour.ranged(body, headers: headers)
    let outcome = try await fetch([ranged.brokenOff(afterBytes: offset), ranged])
    #expect(outcome.body == body && outcome.ranges == [nil, nil] && outcome.restarts == (offset > 1000 ? 1 : 0))
    #expect(outcome.end.summary.receivedBytes == UInt64(body.count + offset))
  }

  @Test func `an encoded body is not resumed`() async throws {
    let headers = HeaderFields(Self.strong.fields + [("Content-Encoding", "gzip")])
    let coded = Behaviour.ranged(try gzip(body), headers: headers)
    let outcome = try await fetch([coded.brokenOff(afterBytes: 2000), coded])
    #expect(outcome.body == body && outcome.ranges == [nil, nil])
  }

  @Test(arguments: [5000, 600_000])
  func `a changed image restarts, whether or not the server compares`(offset: Int) async throws {
    let new = body.map { ~$0 }
    let newHeaders: HeaderFields = ["ETag": "\"2\"", "Accept-Ranges": "bytes"]
    let first = Behaviour.ranged(body, headers: Self.strong).brokenOff(afterBytes: offset)
    let silent = Behaviour.part(offset - Self.seam..<body.count, of: new, headers: newHeaders)
    let longer = Behaviour.part(offset - Self.seam..<body.count, of: new + [1], headers: Self.strong)
    let other = Behaviour.part(0..<10, of: new, headers: Self.strong)
    // With the old entity tag, with none, or with an unknown length.
    let lying = Behaviour.part(offset - Self.seam..<body.count, of: new, headers: Self.strong)
    let unknown = Behaviour.part(offset - Self.seam..<body.count, of: body, total: "*")
    for second in [nil, silent, longer, other, .status(416), lying, unknown] {
      let outcome = try await fetch([first] + (second.map { [$0] } ?? []) + [.ranged(new, headers: newHeaders)])
      #expect(outcome.body == new && outcome.end.image?.validators.etag == "\"2\"")
      #expect(outcome.restarts == (offset > 5000 ? 1 : 0))
      #expect(outcome.ranges == [nil, range(offset)] + (second == nil ? [] : [nil]))
      #expect(outcome.end.summary.attempts == 2)
    }
  }

  @Test(arguments: [5000, 600_000]) func `a server that ignores ranges sends everything again`(offset: Int) async throws {
    let whole = Behaviour.body(body, headers: Self.strong)
    let outcome = try await fetch([whole.brokenOff(afterBytes: offset), whole])
    #expect(outcome.body == body && outcome.restarts == (offset > 5000 ? 1 : 0))
    #expect(outcome.ranges == [nil, range(offset)])
  }

  @Test func `received bytes survive attempts that receive nothing`() async throws {
    let ranged = Behaviour.ranged(body, headers: Self.strong)
    let outcome = try await fetch([ranged.brokenOff(afterBytes: 600_000), .status(503), .status(500), ranged])
    #expect(outcome.body == body && outcome.restarts == 0 && outcome.end.summary.attempts == 4)
    #expect(outcome.ranges == [nil] + Array(repeating: range(600_000), count: 3))
  }

  @Test func `limits count the whole body`() async throws {
    let ranged = Behaviour.ranged(body, headers: Self.strong)
    let lying = Behaviour.raw(
      Array("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 904-899999/900000\r\nETag: \"1\"\r\n\r\n".utf8)
        + body[904..<5000] + [UInt8](repeating: 7, count: 950_000)
    )
    let outcome = try await fetch([ranged.brokenOff(afterBytes: 5000), lying])
    #expect(outcome.end.failure?.kind == .httpStatus)
    let chunked = Behaviour.chunked([Array(body.prefix(20_000)), body], headers: Self.strong).brokenOff(afterBytes: 5006)
    #expect(try await fetch([chunked, ranged], options: .forTests(retries: 1, maxBytes: 800_000)).end.failure?.kind == .tooLarge)
  }

  @Test func `resuming follows the redirects again and requests the rest there`() async throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    let ranged = Behaviour.ranged(body, headers: Self.strong)
    origin.set("/a", .redirect(to: origin.url("/b", host: 1)))
    origin.set("/b", .sequence([ranged.brokenOff(afterBytes: 5000), ranged]))
    let options = DownloadOptions.forTests(headers: [("X-Token", "secret")], retries: 1)
    #expect(try await Fetcher().fetch(origin.url("/a"), options: options).image?.wasStreamed == true)
    #expect(origin.requests.map(\.path) == ["/a", "/b", "/a", "/b"])
    #expect(origin.requests.map { $0.headers["Range"] }.last == range(5000))
    #expect(origin.requests.map { $0.headers["X-Token"] } == ["secret", nil, "secret", nil])
  }

  @Test func `judges and decryptors get a resumed body as if it arrived at once`() async throws {
    let ranged = Behaviour.ranged(body, headers: Self.strong)
    for offset in [4200, 5000, 600_000] {
      let judge = JudgeLog().wanting(2000)
      let judged = try await fetch(
        [ranged.brokenOff(afterBytes: offset), ranged],
        options: .forTests(retries: 1, prefixJudge: judge)
      )
      #expect(judged.body == body && judged.restarts == 0)
      let options = DownloadOptions.forTests(retries: 1).with { $0.decryptor = .not }
      let decrypted = try await fetch([ranged.brokenOff(afterBytes: offset), ranged], options: options)
      #expect(decrypted.end.image?.body == body.map { ~$0 } && decrypted.ranges == [nil, range(offset)])
    }
  }

  @Test func `a waiter that joins after streaming began gets its own body, even while the rest waits for its retry`() async throws
  {
    let clock = ManualClock()
    let ranged = Behaviour.ranged(body, headers: Self.strong)
    let origin = try Origin(["/a": .sequence([ranged.brokenOff(afterBytes: 600_000), ranged])])
    let fetcher = try Fetcher(time: clock.source)
    let backoff = Backoff(initial: .seconds(20), maximum: .seconds(20))
    let download = { (id: UInt64) in Download(id, origin.url("/a"), options: .forTests(retries: 1, backoff: backoff)) }
    fetcher.client.submit([download(1)])
    try await origin.waitForRequests(1)
    try await origin.waitForInFlight(0)
    try await fetcher.recorder.waitForEvent { if case .chunk = $0 { true } else { false } }
    try await fetcher.settle()
    fetcher.client.submit([download(2)])
    try await fetcher.settle()
    fetcher.advance(clock, by: .seconds(20))
    for id: UInt64 in [1, 2] {
      try await fetcher.recorder.waitForEnd(of: id)
      let end = try #require(fetcher.recorder.ends.first { $0.id == id })
      #expect(fetcher.recorder.body(of: end) == body)
    }
    #expect(origin.requests.map { $0.headers["Range"] } == [nil, range(600_000), nil])
  }
}

/// A server that cuts bodies at random and lies about versions and ranges: every accepted body must be of one version.
struct ResumedVersionsTests {
  /// The outcomes of all images.
  private struct Counts: CustomStringConvertible {
    var whole = 0
    var failed = 0
    var parts = 0

    var description: String { "\(whole) whole, \(failed) failed, \(parts) parts requested" }
  }

  /// The server's state, from which responses are drawn.
  private final class Server: Sendable {
    /// The versions of one image: two of the same length, and one that is longer.
    let versions: [[UInt8]]
    /// The bodies of responses without a length, which count as complete.
    let unframed = Mutex<[[UInt8]]>([])
    let parts = Mutex(0)
    private let random: Mutex<SeededRandom>

    init(seed: UInt64) {
      var random = SeededRandom(seed: seed)
      let count = Int.random(in: 20_000...400_000, using: &random)
      // Only the end may look like a marker.
      versions = [0, 0, 1000].map { SampleImages.baseJPEG.dropLast(2) + random.noise(count + $0) + [0xFF, 0xD9] }
      self.random = Mutex(random)
    }

    func respond(to request: RecordedRequest) -> Behaviour { random.withLock { respond(to: request, &$0) } }

    private func respond(to request: RecordedRequest, _ random: inout SeededRandom) -> Behaviour {
      let number = Int.random(in: 0..<3, using: &random)
      let bytes = versions[number]
      // An entity tag that often stays the same for another body, and is sometimes missing.
      let tag = [number, number, 9, 9].randomElement(using: &random)!
      var fields = [("Accept-Ranges", "bytes"), ("Content-Type", "image/jpeg")]
      if Int.random(in: 0..<6, using: &random) > 0 { fields.append(("ETag", "\"\(tag)\"")) }
      let headers = HeaderFields(fields)
      let start = request.headers["Range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) }
      if let start {
        parts.withLock { $0 += 1 }
        if let lie = lie(about: start, bytes, headers, &random) { return lie }
      }
      let whole = unframedOrWhole(bytes, headers, &random)
      return Int.random(in: 0..<3, using: &random) == 0 ? whole : cut(whole, bytes.count, &random)
    }

    private func unframedOrWhole(_ bytes: [UInt8], _ headers: HeaderFields, _ random: inout SeededRandom) -> Behaviour {
      guard Int.random(in: 0..<8, using: &random) == 0 else { return .body(bytes, headers: headers) }
      let sent = Array(bytes.prefix(Int.random(in: 1...bytes.count, using: &random)))
      unframed.withLock { $0.append(sent) }
      return .noLength(sent, headers: headers)
    }

    private func cut(_ behaviour: Behaviour, _ count: Int, _ random: inout SeededRandom) -> Behaviour {
      behaviour.brokenOff(
        afterBytes: Int.random(in: 1..<count, using: &random),
        by: Bool.random(using: &random) ? .close : .reset
      )
    }

    /// A part, right or wrong; nil: the whole body.
    private func lie(about start: Int, _ bytes: [UInt8], _ headers: HeaderFields, _ random: inout SeededRandom) -> Behaviour? {
      guard start < bytes.count else { return .status(416, headers: ["Content-Range": "bytes */\(bytes.count)"]) }
      let range = start..<bytes.count
      let right = Behaviour.part(range, of: bytes, headers: headers)
      switch Int.random(in: 0..<12, using: &random) {
      case 0: return nil
      case 1: return .part(start / 2..<bytes.count, of: bytes, headers: headers)
      case 2: return .part(range, of: bytes, total: "*", headers: headers)
      case 3: return .part(range, of: bytes, total: "9223372036854775808", headers: headers)
      case 4: return .part(range, of: bytes, total: "9223372036854775807", headers: headers)
      case 5: return .part(range, of: bytes, headers: HeaderFields(headers.fields + [("Content-Encoding", "gzip")]))
      case 6: return .status(416, headers: ["Content-Range": "bytes */\(start)"])
      case 7: return cut(right, range.count, &random)
      case 8: return .part(start..<(start + (bytes.count - start + 1) / 2), of: bytes, headers: headers)
      // The right range of other bytes.
      case 9:
        let contentRange = ("Content-Range", "bytes \(start)-\(bytes.count - 1)/\(bytes.count)")
        return .body(Array(bytes.prefix(range.count)), status: 206, headers: HeaderFields([contentRange] + headers.fields))
      default: return right
      }
    }
  }

  @Test(arguments: 0..<8)
  func `every body is one version of its image, or the whole of a response without a length`(seed: UInt64) async throws {
    var counts = Counts()
    for image in 0..<25 {
      let server = Server(seed: seed * 1000 + UInt64(image))
      let origin = try Origin(fallback: .computed { server.respond(to: $0) })
      let fetcher = try Fetcher(threads: 1 + image % 3)
      let streamAbove = image % 2 == 0 ? 16 << 10 : Int.max
      let end = try await fetcher.fetch(origin.url("/a"), options: .forTests(retries: 12, streamAbove: streamAbove))
      counts.parts += server.parts.withLock(\.self)
      guard end.image != nil else {
        counts.failed += 1
        continue
      }
      counts.whole += 1
      let body = try #require(fetcher.recorder.body(of: end))
      let isKnown = server.versions.contains(body) || server.unframed.withLock { $0.contains(body) }
      #expect(isKnown, "seed \(seed), image \(image): \(body.count) bytes of \(server.versions.map(\.count))")
    }
    print("resumed versions, seed \(seed): \(counts)")
    #expect(counts.whole > 10 && counts.parts > 10)
  }
}
