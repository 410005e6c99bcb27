import Foundation
import TestOrigin
import TestSupport
import Testing

/// Sitemaps whose dates decide what is requested again.
@Suite struct SitemapDatesTests {
  private func sitemap(_ origin: Origin, _ dates: [String]) -> Behaviour {
    let entries = dates.enumerated().map { index, date in
      "<url><loc>\(origin.url("/images/\(index).jpg"))</loc><lastmod>\(date)</lastmod></url>"
    }
    return .body(Array("<urlset>\(entries.joined())</urlset>".utf8), type: "application/xml")
  }

  @Test(
    arguments: [false, true]
  )
  func `an image that was cached before its lastmod is requested again, unless the date is in the future`(isSpooled: Bool)
    async throws
  {
    let origin = try makeImageOrigin()
    let keys = isSpooled ? "prefetch: {order: lifo}" : ""
    let job = JobFolder("manifests: [{url: \(origin.url("/s.xml")), sitemap-lastmod: true}]\n\(keys)")
    origin.set("/s.xml", sitemap(origin, ["2020-01-01", "2020-01-01T00:00:00Z", "never"]))
    #expect(try await job.runJob().totals["downloaded"] == 3)
    #expect(try await job.runJob().totals["hit_disk"] == 3)
    // Times of this day may be later than the copy, and those of other years aren't plausible.
    let today = String("\(Date.now.ISO8601Format())".prefix(10))
    origin.set("/s.xml", sitemap(origin, ["2020-01-01", today, "2999-01-01"]))
    let again = try await job.runJob()
    #expect(again.rows("downloaded").map(\.url) == [origin.url("/images/1.jpg")] && again.totals["hit_disk"] == 2)
  }

  @Test func `cache clear removes copies of lists, too`() async throws {
    let origin = try makeImageOrigin()
    let text = "<urlset><url><loc>\(origin.url("/images/0.jpg"))</loc></url></urlset>"
    origin.set("/s.xml", .body(Array(text.utf8), type: "application/xml", headers: ["ETag": "\"1\""]))
    let job = JobFolder("manifests: [{url: \(origin.url("/s.xml"))}]")
    let folder = "\(job.cacheDirectory)/default/lists"
    _ = try await job.runJob()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    let cleared = try await job.prewarm("cache", "clear")
    #expect(cleared.status == 0, "\(cleared.errorText)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
  }
}
