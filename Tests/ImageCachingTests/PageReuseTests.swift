import Foundation
import ImageCaching
import TestSupport
import Testing

/// Pages of the index that commits free.
@Suite struct PageReuseTests {
  /// Stores small images, each in a commit, and returns the growth of the index in bytes.
  private func growth(_ cache: ImageCache, _ names: Range<Int>, delaysReuse: Bool) throws -> Int {
    let before = try indexSize(cache)
    for name in names {
      try cache.write(delaysReuse: delaysReuse) { (writer) throws(CacheError) in try writer.put("image-\(name)", body(3000)) }
    }
    return try indexSize(cache) - before
  }

  private func indexSize(_ cache: ImageCache) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: cache.path + "/index.mdb")[.size] as? Int)
  }

  @Test func `a series of commits doesn't reuse the pages that it frees, and others reuse them after its end`() throws {
    let (one, other) = (TemporaryDirectory(), TemporaryDirectory())
    let (series, single) = (try makeCache(one), try makeCache(other))
    let grown = try growth(series, 0..<15, delaysReuse: true)
    let least = try growth(single, 0..<15, delaysReuse: false)
    #expect(grown > 2 * least)
    series.reusePages()
    #expect(try growth(series, 15..<45, delaysReuse: false) < least)
  }

  @Test func `a long series reuses pages, too, so that the index grows by a limited size`() throws {
    let (one, other) = (TemporaryDirectory(), TemporaryDirectory())
    let grown = try growth(try makeCache(one), 0..<400, delaysReuse: true)
    #expect(try grown < 2 * growth(try makeCache(other), 0..<400, delaysReuse: false))
  }

  @Test func `released pages aren't resident, and are read again`() throws {
    let folder = TemporaryDirectory()
    let cache = try makeCache(folder)
    _ = try growth(cache, 0..<100, delaysReuse: true)
    let resident = { () -> Int in
      let maps = String(decoding: try #require(readFile("/proc/self/smaps")), as: UTF8.self)
      let map = try #require(maps.components(separatedBy: cache.path + "/index.mdb\n").dropFirst().first)
      return try #require(Int(map.firstMatch(of: #/Rss: +(\d+)/#)?.1 ?? ""))
    }
    let before = try resident()
    cache.releasePages()
    #expect(try before > 300 && resident() < 100)
    #expect(try cache.verify().bytes == 100 * 3000)
  }

  @Test func `a series that removes images reuses pages`() throws {
    let (one, other) = (TemporaryDirectory(), TemporaryDirectory())
    let (replacing, adding) = (try makeCache(one), try makeCache(other))
    let grown = try (0..<200).reduce(0) { sum, _ in sum + (try growth(replacing, 0..<1, delaysReuse: true)) }
    #expect(try 5 * grown < growth(adding, 0..<200, delaysReuse: true))
  }
}
