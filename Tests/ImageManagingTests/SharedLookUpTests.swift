import ImageCaching
import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// Look-ups of whole batches, which a second thread may share.
@Suite struct SharedLookUpTests {
  @Test func `a large batch is decided like single requests, each once, with hits in order`() async throws {
    let origin = try Origin([:])
    origin.setFallback { _ in .body(SampleImages.jpeg(1), type: "image/jpeg") }
    let loader = try Loader()
    defer { loader.shutDown() }
    let urls = (0..<2000).map { origin.url("/\($0).jpg") }
    let cached = Set(stride(from: 0, to: 2000, by: 3))
    try loader.ask(cached.sorted().map { urls[$0] }, loader.context())
    #expect(try await loader.results(cached.count).allSatisfy { $0.outcome == .downloaded })

    // It is random whether the second thread takes a part, so it is tried often.
    for _ in 0..<50 {
      let waiter = Loader.Waiter()
      try loader.ask(urls, loader.context(mode: .only), as: waiter)
      let completions = try await waiter.completions(urls.count)
      #expect(completions.count == urls.count && Set(completions.map(\.0.sequence)).count == urls.count)
      let hits = completions.filter { $0.1.result.outcome == .hitDisk }.map { Int($0.0.sequence) }
      #expect(hits == cached.sorted())
      #expect(completions.count { $0.1.result.outcome == .skipped } == urls.count - cached.count)
    }
  }
}
