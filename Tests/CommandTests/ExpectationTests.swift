import Base
import TestOrigin
import TestSupport
import Testing

/// Images held against what their list says.
@Suite struct ExpectationTests {
  private let origin = makeImageOrigin()

  private func digest(_ bytes: [UInt8]) -> String {
    bytes.withUnsafeBytes { sha256(of: $0) }.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// A job over a CSV list with these rows.
  private func job(_ rows: [String], keys: String = "") -> JobFolder {
    let job = JobFolder("manifests: [{path: list.csv}]\n\(keys)")
    job.folder.write((["url,id,sha256,width,height,bytes"] + rows).joined(separator: "\n") + "\n", to: "list.csv")
    return job
  }

  private func kinds(_ run: Run) -> [String: String] {
    Dictionary(run.rows.map { ($0.url, $0.kind ?? $0.outcome) }, uniquingKeysWith: { "\($0) \($1)" })
  }

  @Test func `images that differ fail as expectation, fetched or cached, and stay in the cache`() async throws {
    let (good, other) = (SampleImages.jpeg(1), SampleImages.jpeg(2))
    let urls = imageURLs(origin, 0..<6)
    let job = job([
      "\(urls[1]),one,\(digest(good)),32,24,\(good.count)", "\(urls[2]),two,\(digest(good)),,,", "\(urls[3]),,,33,,",
      "\(urls[4]),,,,25,", "\(urls[5]),,,,,1", "\(urls[0]),,,,,",
    ])
    for outcome in ["downloaded", "hit-disk"] {
      let run = try await job.runJob()
      #expect(run.status == 2 && run.failuresByKind == ["expectation": 4])
      var expected = Dictionary(uniqueKeysWithValues: urls.map { ($0, "expectation") })
      (expected[urls[0]], expected[urls[1]]) = (outcome, outcome)
      #expect(kinds(run) == expected)
      expectGolden(run.result.outputText.timeless.replacing(":\(origin.port)", with: ":PORT").lines(with: "id two"), for: outcome)
    }
    #expect(origin.requests.count == 6 && other.count > 0)
  }

  @Test func `a check fetches images with a SHA-256 whole, and probes the others`() async throws {
    let large = SampleImages.jpeg(7, padding: 2_000_000)
    origin.set("/large.jpg", .body(large, type: "image/jpeg"))
    let job = job(["\(origin.url("/large.jpg")),,\(digest(large)),,,", "\(origin.url("/images/1.jpg")),,,32,,"])
    let result = try await job.prewarm("check list.csv")
    #expect(result.status == 0, "\(result.outputText)\(result.errorText)")
    #expect(origin.requests.first { $0.path == "/large.jpg" }?.headers["Range"] == nil)
    #expect(origin.requests.first { $0.path == "/images/1.jpg" }?.headers["Range"] != nil)
    let changed = self.job(["\(origin.url("/large.jpg")),,\(digest(SampleImages.jpeg(7))),,,"])
    #expect(try await changed.prewarm("check list.csv").status == 2)
  }

  @Test func `rows of the same URL are judged each by its own expectation`() async throws {
    let gate = origin.holdAll()
    let url = origin.url("/images/1.jpg")
    let job = job(["\(url),a,,,,", "\(url),b,\(digest(SampleImages.jpeg(1))),,,", "\(url),c,\(digest([1])),,,"])
    let command = try job.startJob(isHeld: true)
    try await gate.waitForWaiting(1)
    gate.open()
    let run = try job.finishedRun(try await command.wait())
    #expect(run.status == 2 && run.totals["failed"] == 1 && run.totals["urls"] == 3)
  }

  @Test func `an image that changed is found by a refresh, and a 304 confirms the cached one`() async throws {
    let bytes = SampleImages.jpeg(1)
    origin.set(
      "/a.jpg",
      .computed { request in
        request.headers["If-None-Match"] == nil
          ? .body(bytes, type: "image/jpeg", headers: ["ETag": "\"1\""]) : .status(304, headers: ["ETag": "\"1\""])
      }
    )
    let job = job(["\(origin.url("/a.jpg")),,\(digest(bytes)),,,"], keys: "cache: {mode: refresh}")
    for outcome in ["downloaded", "revalidated"] {
      let run = try await job.runJob()
      #expect(run.status == 0 && run.rows.map(\.outcome) == [outcome], "\(run.result.outputText)")
    }
    origin.set("/a.jpg", .jpeg(2))
    #expect(try await job.runJob().failuresByKind == ["expectation": 1])
  }

}
