import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

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
      let fetcher = try Fetcher()
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
