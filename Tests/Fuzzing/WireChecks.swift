import Base
import Glibc
import Jobs

@testable import ImageCoding
@testable import ImageDownloading

/// Heads of responses, and robots.txt, of any bytes: no span is negative, no pause without limit.
struct ResponseChecks {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  func run() {
    var fields = ResponseFields()
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      fields.add(UnsafeRawBufferPointer(rebasing: line))
    }
    let now = Timestamp(milliseconds: 1_800_000_000_000)
    let freshness = fields.freshness(fields.cacheControl, requested: now, received: now)
    let spans = [freshness.lifetime, freshness.staleWhileRevalidate, freshness.staleIfError].compactMap(\.self)
    demand(spans.allSatisfy { $0 >= .zero }, "a negative span in \(freshness)")
    let pause = fields.bytes(.retryAfter).flatMap { RetryAfter.wait($0, date: fields.bytes(.date), now: now) } ?? .seconds(1)
    demand(pause > .zero && pause <= .seconds(10 * 366 * 86_400), "a pause of \(pause)")
    let range = fields.bytes(.contentRange).flatMap { ContentRange($0) }
    demand((range?.bytes?.upperBound ?? 0) <= range?.total ?? .max, "a part beyond the whole: \(range as Any)")
    let evidence = RemoteCacheResponse(fields).evidence
    demand(evidence.map { $0.utf8.count < 1000 } ?? true, "too long to quote: \(evidence ?? "")")
    _ = (fields.codings, fields.isChunked, fields.hasConflictingLengths, fields.cacheControl.isForAnySender)
    let robots = RobotsRules(bytes, for: "prewarm")
    for target in ["/", "/a/b.jpg?c=%2f", "/robots.txt"] { _ = robots.refusal(of: target.utf8) }
    demand(robots.refusal(of: "/robots.txt".utf8) == nil, "robots.txt is forbidden")
  }

  static let seeds = [
    """
    HTTP/1.1 200 OK\r\nCache-Control: max-age=60, stale-while-revalidate="30"\r\n, private\r\nAge: 7\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r
    Expires: 0\r\nRetry-After: Sunday, 06-Nov-94 08:49:37 GMT\r\nContent-Range: bytes 0-9/20\r\nCache-Status: a; hit, b; fwd=stale; fwd-status=304
    """,
    "HTTP/2 429\r\nretry-after: 120\r\ncontent-encoding: gzip, br\r\ncontent-length: 3, 4\r\nserver-timing: cdn-cache; desc=HIT",
    "User-agent: *\nDisallow: /a*b$\nAllow: /a\nCrawl-delay: 1\n\nUser-agent: Prewarm/1\r\nDisallow: /%zz%41é",
  ].map { Array($0.utf8) }
}

/// Job files of any bytes: an invalid one has a sentence for each mistake.
struct JobChecks {
  static func run(_ bytes: UnsafeRawBufferPointer) {
    do throws(JobFileErrors) {
      _ = try JobFile.parse(Array(bytes), path: "job.yaml", environment: [:])
    } catch {
      demand(!error.errors.isEmpty && !error.description.isEmpty, "an error without a sentence")
    }
  }

  static let seeds = [
    "version: 1\nname: a\nmanifests: [{path: a.txt, variants: [{suffix: b}]}]\nrequest: {headers: {A: b}, retries: 3, backoff: {initial: 1s}}",
    "version: 1\nname: &a ${B:-c}\nmanifests:\n  - {url: 'http://h/{w}', template: \"/{url}\"}\nhosts: {'*.h': {per-host-rate: 20/s}}\nx: *a",
    "version: 1\nname: a\nmanifests: [{urls: [http://h/]}]\nnotify: [{webhook: {url: http://h}, when: changed}]\nfail-on: {temporary: 2 runs}",
  ].map { Array($0.utf8) }
}

/// Messages of any bytes from a decoder that an image has taken over: it ends, and what it says is an image, or a failure.
struct WorkerChecks {
  private static let task = WorkerTask(.png, 8, DecodingOptions(), DecodingLimits(maximumBytes: 1 << 16))

  /// Each message follows its length, in two bytes.
  static func run(_ bytes: UnsafeRawBufferPointer) {
    var sockets: [Int32] = [-1, -1]
    demand(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &sockets) == 0, "no sockets")
    let worker = DecodingProcess(socket: sockets[0], process: getpid(), formats: [.png], memory: 1 << 16)
    var rest = bytes[...]
    while rest.count > 2 {
      let length = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
      let message = UnsafeRawBufferPointer(rebasing: rest.dropFirst(2).prefix(length))
      _ = send(sockets[1], message.baseAddress, message.count, Int32(MSG_DONTWAIT))
      rest = rest.dropFirst(2 + length)
    }
    shutdown(sockets[1], Int32(SHUT_WR))
    defer { close(sockets[1]) }
    var exchange = DecodingExchange(worker, task, .seconds(1))
    let image = [UInt8](repeating: 0, count: 8)
    guard let answer = try? image.withUnsafeBytes({ try exchange.perform(.decode, $0) }) else { return }
    switch answer {
    case .success(let answer):
      demand(answer.frames.allSatisfy { $0.pixels.bytes.count == $0.pixels.size.pixels * 4 }, "pixels of another size")
    case .failure(let error): demand(!error.message.isEmpty, "a failure without a sentence")
    }
  }

  static let seeds = [
    [message(.pixels, [40]), message(.result, [1, 1, 0, 1, 1], ["a warning"])],
    [message(.failure, [0, 1 << 20], ["not an image"])],
    [message(.memory, [4096]), message(.pixels, [16]), message(.release), message(.result, [2, 2, -1, 0, 0])],
  ].map { Array($0.joined()) }

  private static func message(_ kind: WorkerMessage.Kind, _ numbers: [Int] = [], _ texts: [String] = []) -> [UInt8] {
    let head = [kind.rawValue, numbers.count, texts.count] + numbers + texts.map(\.utf8.count)
    let bytes = head.withUnsafeBytes { Array($0) } + texts.joined().utf8
    return [UInt8(bytes.count & 0xFF), UInt8(bytes.count >> 8)] + bytes
  }
}
