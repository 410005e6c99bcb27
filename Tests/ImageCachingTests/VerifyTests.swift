import Glibc
import Base
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct VerifyTests {
  let directory = TemporaryDirectory()

  /// A cache with one damaged large body, one damaged small one, good ones, and an unused blob.
  private func damage() throws -> [String] {
    try makeCache(directory).put("large", body(400_000, seed: 3))
    directory.damageBlob()
    let small = body(50_000, seed: 9)
    try makeCache(directory).write { (writer) throws(CacheError) in
      for number in 0..<600 { try writer.put("good \(number)", body(100)) }
    }
    try makeCache(directory).put("small", small)
    try makeCache(directory).put("good", body(400_000))
    var index = try #require(directory.read("default/index.mdb"))
    let start = try #require(index.indices.first { index[$0] == small[1] && index[$0...].starts(with: small[1..<2000]) })
    index[start + 30_000] ^= 1
    directory.write(index, to: "default/index.mdb")
    directory.write("x", to: "default/blobs/00/anything")
    return ["large", "small", "good", "good 0", "good 599"]
  }

  @Test func `a verification reads every body, and reports and removes damaged ones`() throws {
    let names = try damage()
    let cache = try makeCache(directory)
    var reported: [String: CachedBody.Damage] = [:]
    let result = try cache.verify { reported[String(decoding: $0.shownURL, as: UTF8.self)] = $1 }
    #expect(reported == ["large": .wrongChecksum, "small": .wrongChecksum])
    #expect(result.entries == 603 && result.bytes == 460_000)
    #expect(result.damaged == 2 && result.removed == 2 && result.sweptBlobs == 1)
    #expect(try cache.present(names) == ["good", "good 0", "good 599"])
    #expect(try cache.totals() == CacheTotals(entries: 601, bodyBytes: 460_000, blacklistEntries: 0))
    #expect(try cache.counted() == (601, 460_000))
    #expect(blobs(directory).count == 1)
    #expect(try cache.verify().damaged == 0)
  }

  @Test(arguments: [ImageCache.Access.readOnly, .readWrite])
  func `without repair a verification reports damage and removes nothing`(access: ImageCache.Access) throws {
    let names = try damage()
    let cache = try makeCache(directory, access: access)
    let result = try cache.verify(repair: false)
    #expect(result.damaged == 2 && result.removed == 0 && result.sweptBlobs == 0)
    #expect(try cache.present(names) == names)
    #expect(blobs(directory).count == 3)
    if access == .readOnly { #expect(throws: CacheError.readOnly(path: cache.path)) { try cache.verify() } }
  }
}
