import Foundation
import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Bodies whose end neither a length nor the transfer marks.
struct BodyEndTests {
  private static let image = SampleImages.jpeg(1, padding: 3000)
  private static let half = Array(image.prefix(image.count / 2))

  /// Events that libcurl 7.88 takes for the end of a body.
  enum Break: CaseIterable, Sendable {
    case reset, padding, compression, goAway

    func frames(_ stream: UInt32) -> [HTTP2Origin.Frame] {
      let id = withUnsafeBytes(of: stream.bigEndian) { Array($0) }
      return switch self {
      case .reset: [.reset(stream, code: 0)]
      // More padding than bytes in the frame, and an index outside of all tables (RFC 9113, section 6.1; RFC 7541, section 6.1).
      case .padding: [.bytes([0, 0, 2, 0, 8] + id + [200, 1])]
      case .compression: [.bytes([0, 0, 2, 1, 5] + id + [0xFF, 0xFF])]
      case .goAway: [.goAway(last: 0), .close]
      }
    }
  }

  /// Fetches from a server with HTTP/2 that sends those frames.
  private func fetch(
    _ options: DownloadOptions = .forTests(),
    frames: @escaping @Sendable (UInt32) -> [HTTP2Origin.Frame]
  ) async throws -> End {
    let certificates = try await Certificates()
    let origin = HTTP2Origin(certificates) { frames($0.stream) }
    let connection = DownloadOptions.Connection.with(.http2, caFile: certificates.authority)
    return try await Fetcher().fetch(origin.url("/a"), options: options.with { $0.connection = connection })
  }

  @Test(arguments: Break.allCases)
  func `half an image over HTTP/2 without a length is truncated, however the stream ends`(way: Break) async throws {
    let failure = try #require(try await fetch { [.head($0), .data($0, Self.half)] + way.frames($0) }.failure)
    #expect([.truncated, .reset].contains(failure.kind) && failure.isTransient, "\(failure)")
    if way == .reset { expectGolden(failure.message) }
  }

  @Test(arguments: [true, false]) func `a whole image over HTTP/2 without a length is good`(ends: Bool) async throws {
    let end = try await fetch { [.head($0), .data($0, Self.image, ends: ends)] + (ends ? [] : [.reset($0, code: 0)]) }
    #expect(end.image?.body == Self.image)
    // Texts don't mark their own end.
    let list = DownloadOptions.forTests().fetchingText(accept: "*/*", maxBytes: 100)
    if ends { #expect(try await fetch(list) { [.head($0), .data($0, [7], ends: true)] }.image?.body == [7]) }
  }

  @Test func `a probe of half an image over HTTP/2 without a length is truncated`() async throws {
    let end = try await fetch(.forTests(method: .probe)) { [.head($0), .data($0, Self.half), .reset($0, code: 0)] }
    #expect(end.failure?.kind == .truncated)
  }

  @Test(arguments: [true, false])
  func `a TLS connection that ends without an alert doesn't end an image`(isWhole: Bool) async throws {
    let certificates = try await Certificates()
    let body = isWhole ? Self.image : Self.half
    let origin = RawOrigin(certificates) { _ in .init("HTTP/1.1 200 OK\nContent-Type: image/jpeg", body, closes: true) }
    let options = DownloadOptions.forTests(connection: .with(.http1, caFile: certificates.authority))
    let end = try await Fetcher().fetch(origin.url("/a"), options: options)
    #expect(end.image?.body == (isWhole ? body : nil))
    #expect(end.failure?.kind == (isWhole ? nil : .truncated) && end.failure?.isTransient != false)
  }

  @Test func `a closed connection ends an image only if its format marks the end`() async throws {
    let unknown = pattern(5000)
    let origin = try Origin(["/whole": .noLength(Self.image), "/half": .noLength(Self.half), "/unknown": .noLength(unknown)])
    let ends = try await Fetcher().fetchInTurn(["/whole", "/unknown", "/half"].map { (origin.url($0), .forTests()) })
    #expect(ends.map { $0.image?.body } == [Self.image, unknown, nil])
    #expect(ends[2].failure?.kind == .truncated && ends[2].failure?.isTransient == true)
  }

  @Test func `the end of a decrypted image counts`() async throws {
    let origin = try Origin([
      "/whole": .noLength(Self.image.map { ~$0 }), "/half": .noLength(Self.half.map { ~$0 }),
    ])
    let options = DownloadOptions.forTests().with { $0.decryptor = .not }
    #expect(try await Fetcher().fetch(origin.url("/whole"), options: options).image?.body == Self.image)
    #expect(try await Fetcher().fetch(origin.url("/half"), options: options).failure?.kind == .truncated)
  }

  // MARK: Coded bodies

  /// Encodes in zlib's format, in one stored block.
  private static func zlib(_ bytes: [UInt8]) -> [UInt8] { [0x78, 0x01] + deflated(bytes) + checksum(bytes) }

  private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
    let count = UInt16(bytes.count)
    return [1, UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8)] + bytes
  }

  /// Adler-32 (RFC 1950, section 8.2).
  private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return withUnsafeBytes(of: (high << 16 | low).bigEndian) { Array($0) }
  }

  private func fetch(_ body: [UInt8], coding: String, _ options: DownloadOptions = .forTests()) async throws -> End {
    let origin = try Origin(["/a": .body(body, type: "image/jpeg", headers: ["Content-Encoding": coding])])
    return try await Fetcher().fetch(origin.url("/a"), options: options)
  }

  /// The bytes as a stored block of brotli (RFC 7932, section 9.2).
  private static func brotli(_ bytes: [UInt8]) -> [UInt8] {
    let head = (bytes.count - 1) << 4 | 1 << 20
    return [UInt8(head & 255), UInt8(head >> 8 & 255), UInt8(head >> 16)] + bytes + [3]
  }

  /// The bytes as a raw block of a Zstandard frame with a checksum (RFC 8878, section 3.1.1).
  private static func zstd(_ bytes: [UInt8]) -> [UInt8] {
    let count = UInt32(bytes.count)
    let little = { (number: UInt32) in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
    return [0x28, 0xB5, 0x2F, 0xFD, 0xA0] + little(count) + little(count << 3 | 1).prefix(3) + bytes
  }

  private static func coded(_ bytes: [UInt8], by coding: String) throws -> [UInt8] {
    switch coding {
    case "deflate": zlib(bytes)
    case "raw": deflated(bytes)
    case "identity", "": bytes
    case "br": brotli(bytes)
    case "zstd": zstd(bytes)
    case "gzip, deflate": zlib(try gzip(bytes))
    case "gzip, gzip": try gzip(try gzip(bytes))
    default: try gzip(bytes)
    }
  }

  @Test(
    arguments: [
      "gzip", "x-gzip", "GZIP", "deflate", "raw", "identity", "gzip, deflate", "br", "zstd", "", "aws-chunked,gzip",
      "gzip, utf-8",
    ]
  )
  func `a coded body is decoded, whatever unknown codings are named besides`(coding: String) async throws {
    let body = try Self.coded(Self.image, by: coding)
    #expect(try await fetch(body, coding: coding == "raw" ? "deflate" : coding).image?.body == Self.image)
  }

  @Test(arguments: ["gzip", "deflate", "raw", "gzip, gzip", "br", "zstd"])
  func `a coded body that is cut is truncated, wherever`(coding: String) async throws {
    let coded = try Self.coded(Self.image, by: coding)
    for left in [1, 2, 3, 11, coded.count / 2, coded.count - 9, coded.count - 8, coded.count - 1] {
      for method in [DownloadOptions.Method.get, .probe] {
        let cut = Array(coded.prefix(left))
        let end = try await fetch(cut, coding: coding == "raw" ? "deflate" : coding, .forTests(method: method))
        #expect(end.failure?.kind == .truncated && end.failure?.isTransient == true, "\(coding) \(left): \(end)")
      }
    }
  }

  @Test func `a coded body must have the checksum and the length that it declares`() async throws {
    for offset in [1, 5] {
      var coded = try gzip(Self.image)
      coded[coded.count - offset] ^= 1
      let failure = try #require(try await fetch(coded, coding: "gzip").failure)
      #expect(failure.kind == .truncated && failure.isTransient)
      expectGolden(failure.message)
    }
  }

  @Test(arguments: ["gzip", "deflate", "br", "zstd"])
  func `bytes after a coded body are ignored and reported`(coding: String) async throws {
    let coded = try Self.coded(Self.image, by: coding)
    for excess in [[1, 2, 3], [0], try gzip([7])] {
      let image = try #require(try await fetch(coded + excess, coding: coding).image)
      #expect(image.body == Self.image && image.hasExcess)
    }
    #expect(try await fetch(coded, coding: coding).image?.hasExcess == false)
    #expect(try await fetch(coded + pattern(20_000), coding: coding, .forTests(maxBytes: 20_000)).failure?.kind == .tooLarge)
  }

  @Test func `frames of Zstandard are joined`() async throws {
    let halves = [Self.half, Array(Self.image.dropFirst(Self.half.count))]
    #expect(try await fetch(halves.flatMap(Self.zstd), coding: "zstd").image?.body == Self.image)
  }

  @Test(arguments: ["none", "utf-8", "binary", "aws-chunked", "UTF8, x", "klingon"])
  func `a body of an unknown coding is taken as it is`(coding: String) async throws {
    for options in [DownloadOptions.forTests(), .forTests(method: .probe), .forTests(method: .head)] {
      let image = try #require(try await fetch(Self.image, coding: coding, options).image)
      #expect(image.undecoded == coding.lowercased().split(separator: ",").first.map(String.init))
      #expect(image.totalBytes == Self.image.count && image.body == (options.method == .head ? [] : Self.image))
    }
  }

  /// A server of one chunk with that transfer coding.
  private func chunked(_ bytes: some Collection<UInt8>, _ coding: String) -> RawOrigin {
    let chunk = Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n0\r\n\r\n".utf8)
    return RawOrigin { _ in .init("HTTP/1.1 200 OK\nTransfer-Encoding: \(coding)", chunk) }
  }

  @Test(arguments: ["chunked, chunked", "chunked\nTransfer-Encoding: chunked"])
  func `a body that is said to be chunked more than once is read as chunked`(coding: String) async throws {
    let origin = chunked(Self.image, coding)
    let image = try #require(try await Fetcher().fetch(origin.url("/a")).image)
    #expect(image.body == Self.image && image.undecoded == nil)
  }

  @Test func `a transfer coding is decoded, and must end properly too`() async throws {
    let coded = try gzip(Self.image)
    for count in [coded.count, coded.count - 8] {
      let origin = chunked(coded.prefix(count), "gzip, chunked")
      let end = try await Fetcher().fetch(origin.url("/a"))
      #expect(end.image?.body == (count == coded.count ? Self.image : nil))
      #expect(end.failure?.kind == (count == coded.count ? nil : .truncated))
    }
  }

  @Test func `a coded text that is cut is truncated too`() async throws {
    let coded = try gzip(Array("http://example.com/a.jpg\n".utf8))
    let list = DownloadOptions.forTests().fetchingText(accept: "*/*", maxBytes: 1000)
    #expect(try await fetch(coded, coding: "gzip", list).image?.bodyBytes == 25)
    #expect(try await fetch(Array(coded.dropLast(8)), coding: "gzip", list).failure?.kind == .truncated)
  }

  // MARK: Bytes after a response

  @Test(arguments: [100, 65_536, 300_000])
  func `bytes after a complete response don't become part of the next one`(padding: Int) async throws {
    let (first, second) = (SampleImages.jpeg(1, padding: padding), SampleImages.jpeg(2))
    let evil = SampleImages.jpeg(666)
    let head = { @Sendable (count: Int) in "HTTP/1.1 200 OK\nContent-Type: image/jpeg\nContent-Length: \(count)" }
    let origin = RawOrigin { path in
      let body = path == "/1" ? first : second
      let unasked = Array((head(evil.count) + "\n\n").replacing("\n", with: "\r\n").utf8) + evil
      return .init(head(body.count), body + (path == "/1" ? unasked : []))
    }
    let fetcher = try Fetcher(concurrency: 1)
    let ends = try await fetcher.fetchAll([origin.url("/1"), origin.url("/2"), origin.url("/3")])
    for end in ends { #expect(fetcher.recorder.body(of: end) == (end.id == 1 ? first : second)) }
    #expect(fetcher.downloader.statistics.openedConnections == 2)
  }
}
