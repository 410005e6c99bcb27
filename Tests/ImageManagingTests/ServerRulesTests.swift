import Base
import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import TestOrigin
import TestSupport
import Testing

/// What a server over the library sends.
@Suite struct ServerRulesTests {
  private let album = Album.plain()

  @Test func `a client's copy is current by weak and strong tags, in lists, and by an asterisk`() async throws {
    let file = try await album.manager.data(for: album.url("/a.jpg"))
    let tag = file.etag
    for (field, isCurrent) in [
      (tag, true), ("W/\(tag)", true), ("\"other\", \(tag)", true), (" W/\"x\" ,\t\(tag) ", true), ("*", true),
      ("\"other\"", false),
      ("", false), (String(tag.dropFirst().dropLast()), false), ("w/\(tag)", false),
    ] {
      #expect(file.facts.isCurrent(ifNoneMatch: field) == isCurrent, "\(field)")
    }
    #expect(!file.facts.isCurrent(ifNoneMatch: nil))
  }

  /// The parts of a file of 1,000 bytes by `Range` (RFC 9110, section 14.1.2).
  private static let ranges: [(String?, ImageFacts.Part)] = [
    (nil, .whole), ("bytes=0-499", .bytes(0..<500)), ("bytes=500-999", .bytes(500..<1000)), ("bytes=-500", .bytes(500..<1000)),
    ("bytes=9500-", .unsatisfiable), ("bytes=0-0", .bytes(0..<1)), ("bytes=999-5000", .bytes(999..<1000)),
    ("bytes=-5000", .bytes(0..<1000)),
    ("bytes=-0", .unsatisfiable), ("bytes=1000-1001", .unsatisfiable), ("bytes=5-2", .whole), ("bytes=0-1,5-6", .whole),
    ("items=0-1", .whole),
    ("bytes 0-1", .whole), ("bytes=a-b", .whole), ("bytes=", .whole), ("bytes=-", .whole), ("Bytes = 1-2", .bytes(1..<3)),
    ("bytes=0-99999999999999999999999", .bytes(0..<1000)), ("bytes=99999999999999999999999-", .unsatisfiable),
    ("bytes=--5", .whole),
    ("bytes=+1-5", .whole),
  ]

  @Test func `a range is served as the RFC says`() async throws {
    album.origin.set("/large.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg"))
    var facts = try await album.manager.data(for: album.url("/large.jpg")).facts
    facts.byteCount = 1000
    for (field, part) in Self.ranges { #expect(facts.part(range: field) == part, "\(field ?? "none")") }
    #expect(facts.part(range: "bytes=0-1", ifRange: facts.etag) == .bytes(0..<2))
    for other in ["W/\(facts.etag)", "\"other\"", "Sat, 28 Nov 2026 00:00:00 GMT"] {
      #expect(facts.part(range: "bytes=0-1", ifRange: other) == .whole)
    }
    #expect(ImageFacts.Part.bytes(0..<500).contentRange(of: 1000) == "bytes 0-499/1000")
    #expect(
      ImageFacts.Part.unsatisfiable.contentRange(of: 1000) == "bytes */1000" && ImageFacts.Part.whole.contentRange(of: 1) == nil
    )
  }

  /// `Accept` headers of browsers and others, and the format that they get of AVIF, WebP and JPEG.
  private static let accepted: [(String?, ImageFormat?)] = [
    ("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", .avif), ("image/webp,image/*;q=0.8", .webp),
    ("image/webp,image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5", .webp), ("*/*", .jpeg), (nil, .jpeg),
    ("", .jpeg),
    ("image/*", .jpeg), ("image/avif;q=0.5, image/webp", .webp), ("image/avif;q=0, */*", .jpeg), ("IMAGE/AVIF", .avif),
    ("text/html", nil), ("image/jpeg, image/webp;q=1.0", .webp), ("image/avif;Q=0.1,image/jpeg;q=0.2", .jpeg),
  ]

  @Test func `a client gets the best format that it names`() {
    for (accept, format) in Self.accepted {
      #expect(ImageFormat.preferred(by: accept, among: [.avif, .webp, .jpeg]) == format, "\(accept ?? "none")")
    }
  }

  @Test func `each encoding of an image is one of its own in the cache, and the original stays`() async throws {
    var request = album.request("/a.jpg")
    for transformer in [nil, ResizingTransformer(width: 8)] {
      request.decoding.transformer = transformer
      for format in [ImageFormat.webp, .png, .jpeg] {
        request.decoding.encoding = TransformEncoding(format: format)
        for source in [format == .webp && transformer == nil ? ImageResponse.Source.network : .disk, .disk] {
          let file = try await album.manager.data(for: request)
          #expect(file.format == format && file.size.width == (transformer == nil ? 32 : 8) && file.source == source)
          #expect(file.bytes.withUnsafeBytes { ImageFormat(prefix: $0) } == format)
        }
        #expect(try await album.manager.record(for: request)?.format == format)
      }
    }
    #expect(try await album.manager.data(for: album.url("/a.jpg")).bytes == SampleImages.jpeg(1))
    #expect(album.origin.requests.count == 1)
  }

  @Test func `an animation stays one, or is refused, unless its first frame is asked for`() async throws {
    album.origin.set("/a.gif", .body(Fixtures.bytes("images/good/animation.gif"), type: "image/gif"))
    var request = album.request("/a.gif", transformer: ResizingTransformer(width: 4))
    #expect(try await album.manager.record(for: request) == nil)
    let kept = try await album.manager.data(for: request)
    #expect(kept.format == .webp)
    #expect(try ImageCoderRegistry.standard.decode(kept.bytes).animation?.frames.count ?? 0 > 1)
    for format in [ImageFormat.jpeg, .png] {
      request.decoding.encoding = TransformEncoding(format: format)
      var sentence = ""
      do throws(ImageLoadError) { _ = try await album.manager.data(for: request) } catch { sentence = "\(error)" }
      #expect(sentence.contains("\(format.name) can't keep the animation's") && sentence.contains("firstFrameOnly"))
      request.decoding.encoding?.options.firstFrameOnly = true
      #expect(try await album.manager.data(for: request).format == format)
    }
  }

  @Test func `a part of a file is read from where it is asked`() async throws {
    let large = SampleImages.jpeg(1) + [UInt8](repeating: 7, count: 300_000)
    album.origin.set("/large.jpg", .body(large, type: "image/jpeg"))
    for path in ["/large.jpg", "/a.jpg"] {
      let file = try await album.manager.file(for: album.url(path))
      let whole = path == "/a.jpg" ? SampleImages.jpeg(1) : large
      for range in [0..<whole.count, 0..<0, 5..<6, 100..<whole.count, whole.count - 1..<whole.count, whole.count..<whole.count] {
        var bytes: [UInt8] = []
        for try await part in file.chunks(in: range, ofCount: 70_000) { bytes += part }
        #expect(bytes == Array(whole[range]))
      }
    }
  }

  @Test func `a path of a client never leaves the folder`() {
    for (path, url) in [
      ("a.jpg", "https://o/p/a.jpg"), ("b/c%20d.jpg", "https://o/p/b/c%20d.jpg"), ("%C3%A4.jpg", "https://o/p/%C3%A4.jpg"),
      ("..", nil), ("../a", nil), ("a/../../b", nil), ("%2e%2E/a", nil), (".%2e/a", nil), ("a/./b", nil), ("a//b", nil),
      ("", nil),
      ("a%2Fb", nil), ("a%5cb", nil), ("a\\b", nil), ("%252e%252e/a", nil), ("a?b", nil), ("a#b", nil), ("a%00", nil),
      ("a b", nil),
      ("%zz", nil), ("a%2", nil), ("/a", nil), ("a/", nil), ("ä", nil),
    ] as [(String, String?)] {
      #expect(ImageRequest(path: path, below: "https://o/p")?.url == url, "\(path)")
      #expect(ImageRequest(path: path, below: "https://o/p/")?.url == url, "\(path)")
    }
  }

  @Test func `a failure has the status that a client understands`() async throws {
    let statuses = [404: 404, 410: 410, 403: 403, 401: 401, 451: 451, 408: 502, 500: 502, 503: 503, 429: 503, 504: 504, 418: 418]
    for (status, sent) in statuses {
      album.origin.set("/\(status).jpg", .status(status))
      var request = album.request("/\(status).jpg")
      request.options.retries = 0
      do throws(ImageLoadError) { _ = try await album.manager.data(for: request) } catch { #expect(error.httpStatus == sent) }
    }
    let others: [(ImageLoadError, Int)] = [
      (.notCached, 504), (.declined, 404), (.cancelled, 503), (.shutDown, 503),
      (.failed(ImageFailure(.timeout, message: "")), 504), (.failed(ImageFailure(.hostDown, message: "")), 503),
      (.failed(ImageFailure(.undecodable, message: "")), 502), (.failed(ImageFailure(.invalidURL, message: "")), 404),
    ]
    for (error, status) in others { #expect(error.httpStatus == status) }
  }
}
