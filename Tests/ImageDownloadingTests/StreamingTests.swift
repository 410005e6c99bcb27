import ImageDownloading
import Base
import TestOrigin
import Testing

/// Bodies: small ones whole, large ones in chunks.
struct StreamingTests {
  private func chunks(_ events: [DownloadEvent]) -> [(attempt: Int, bytes: [UInt8])] {
    events.compactMap { event in
      guard case .chunk(_, let attempt, let bytes) = event else { return nil }
      return (attempt, bytes)
    }
  }

  @Test(arguments: [0, 1, 999, 1000, 1001, 300_000, 1_000_000])
  func `a body up to streamAbove arrives whole, and a larger one in chunks`(count: Int) async throws {
    let body = pattern(count)
    for behaviour in [Behaviour.body(body), .noLength(body), .chunked(body.isEmpty ? [] : [body])] {
      let origin = try Origin(["/a": behaviour])
      let fetcher = try Fetcher()
      let image = try #require(try await fetcher.fetch(origin.url("/a"), options: .forTests(streamAbove: 1000)).image)
      #expect(image.bodyBytes == count)
      #expect(image.wasStreamed == (count > 1000))
      let chunks = chunks(fetcher.recorder.events)
      #expect(image.body == (count > 1000 ? [] : body))
      #expect(chunks.flatMap(\.bytes) == (count > 1000 ? body : []))
      #expect(chunks.allSatisfy { !$0.bytes.isEmpty && $0.bytes.count < 512 << 10 })
      #expect(image.summary.receivedBytes >= UInt64(count))
    }
  }

  @Test func `chunks of a truncated body are void and arrive again`() async throws {
    let body = pattern(900_000)
    let origin = try Origin(["/a": .sequence([.cut(afterBytes: 600_000, declared: 900_000, of: body), .body(body)])])
    let fetcher = try Fetcher()
    let end = try await fetcher.fetch(origin.url("/a"), options: .forTests(retries: 1))
    #expect(end.image?.wasStreamed == true)
    #expect(end.summary.attempts == 2)
    #expect(end.summary.receivedBytes == 1_500_000)

    let events = fetcher.recorder.events
    let restart = try #require(events.firstIndex { if case .restarted = $0 { true } else { false } })
    let before = chunks(Array(events[..<restart]))
    let after = chunks(Array(events[restart...]))
    #expect(!before.isEmpty && before.allSatisfy { $0.attempt == 1 })
    #expect(after.allSatisfy { $0.attempt == 2 })
    #expect(after.flatMap(\.bytes) == body)
  }

  @Test func `a streamed body that stays truncated fails as truncated`() async throws {
    let end = try await fetch(.cut(afterBytes: 600_000, declared: 900_000)).end
    #expect(end.failure?.kind == .truncated)
  }

  @Test func `many small bodies arrive whole over kept connections`() async throws {
    let origin = try Origin(fallback: .computed { .body(Array($0.target.utf8)) })
    let fetcher = try Fetcher(concurrency: 32, perHost: 32)
    fetcher.submit((1...3000).map { origin.url("/image/\($0)") })
    for end in try await fetcher.recorder.waitForEnds(3000) {
      #expect(end.image?.body == Array("/image/\(end.id)".utf8))
    }
    #expect(origin.connectionsOpened <= 32)
  }
}
