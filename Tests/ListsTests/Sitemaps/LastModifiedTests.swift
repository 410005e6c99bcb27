import Base
import Lists
import TestSupport
import Testing

/// Whether the dates of a sitemap can be those of changes.
@Suite struct LastModifiedTests {
  let directory = TemporaryDirectory()
  /// 2026-11-20T12:00:00Z
  private static let now = Timestamp(milliseconds: 1_795_176_000_000)

  private func warnings(_ dates: [String], newerThan: Duration? = .seconds(7 * 86_400)) throws -> [String] {
    let entries = dates.enumerated().map { "<url><loc>https://a.com/\($0).jpg</loc><lastmod>\($1)</lastmod></url>\n" }
    var manifest = directory.manifest("<urlset>" + entries.joined() + "</urlset>", name: "sitemap.xml")
    manifest.newerThan = newerThan.map { Self.now.advanced(by: .zero - $0) }
    let reader = try ListReader([manifest], order: .fifo, spoolDirectory: directory.path, time: TimeSource(wall: { Self.now }))
    var batch = EntryBatch()
    while try reader.next(&batch, maximum: 100) {}
    return reader.warnings
  }

  @Test func `dates in the future aren't plausible`() throws {
    let warnings = try warnings(["2026-11-19", "2026-11-23", "2030-01-01T00:00:00Z", "2026-11-20T11:00:00Z"])
    #expect(warnings.count == 1)
    expectGolden(warnings.first)
  }

  @Test func `dates that are all the time of the request aren't plausible`() throws {
    let warnings = try warnings(["2026-11-20T12:00:01+00:00", "2026-11-20T13:00:00+01:00", "2026-11-20T11:59:30Z"])
    #expect(warnings.count == 1)
    expectGolden(warnings.first)
  }

  @Test(arguments: [
    ["2026-11-20", "2026-11-20"], ["2026", "2026-11"], ["2026-11-20T12:00:00Z"],
    ["2026-11-20T12:00:00Z", "2026-11-20T09:00:00Z"], ["2026-11-20T11:00:00Z", "2026-11-20T11:00:00Z"],
    ["2026-11-21T03:00:00", "2026-11-21"], ["2026-11-20T12:00Z", "2026-11-20"],
  ])
  func `other dates are plausible`(dates: [String]) throws { #expect(try warnings(dates) == []) }

  @Test func `without newer-than, dates aren't judged`() throws {
    #expect(try warnings(["2030-01-01", "2030-01-01"], newerThan: nil) == [])
  }
}
