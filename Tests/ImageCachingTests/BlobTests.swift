import Glibc
import ImageCaching
import Base
import TestSupport
import Testing

@Suite struct BlobTests {
  let directory = TemporaryDirectory()

  @Test func `a body written in parts is verified as one`() throws {
    let cache = try makeCache(directory)
    let bytes = body(500_000)
    let staged = try cache.stage(bytes, partSize: 7777)
    #expect(staged.size == 500_000)
    #expect(staged.checksum == bytes.withUnsafeBytes(checksum(of:)))
    try cache.write { (writer) throws(CacheError) in try writer.put("a", [], staged: staged) }
    #expect(try cache.cachedBody("a") == .bytes(bytes))
    #expect(try cache.totals().bodyBytes == 500_000)
    #expect(try cache.diskBytes() > 500_000)
  }

  @Test func `a blob that isn't committed is removed`() throws {
    let cache = try makeCache(directory)
    var writer: BlobWriter? = try cache.makeBlobWriter()
    try body(10).withRawBytes { (bytes) throws(CacheError) in try writer?.append(bytes) }
    #expect(blobs(directory).count == 1)
    writer = nil
    #expect(blobs(directory).isEmpty)

    var staged: StagedBlob? = try cache.stage(body(400_000))
    #expect(staged != nil && blobs(directory).count == 1)
    staged = nil
    #expect(blobs(directory).isEmpty)
  }

  @Test(arguments: [nil, 0, 399_999, 400_000, 400_001])
  func `reading detects a missing, truncated or changed blob`(newSize: Int?) throws {
    let cache = try makeCache(directory)
    try cache.put("a", body(400_000))
    let name = "default/blobs/" + (try #require(blobs(directory).first))
    var bytes = try #require(directory.read(name))
    if let newSize {
      bytes[1000] ^= 1
      directory.write((bytes + [0]).prefix(newSize), to: name)
    } else {
      unlink(directory.file(name))
    }
    let damage: CachedBody.Damage = newSize == nil ? .missing : newSize == 400_000 ? .wrongChecksum : .wrongSize
    #expect(try cache.cachedBody("a") == .damaged(damage))
    #expect(try cache.isFresh("a"), "a plain hit reads only the record")
  }

  @Test(arguments: [10, 400_000]) func `the body of a replaced record is gone, not damaged`(size: Int) throws {
    let cache = try makeCache(directory)
    try cache.put("a", body(size))
    let head = try #require(try cache.head("a"))
    try cache.put("a", body(size, seed: 2))
    #expect(try cache.body("a", as: head) == nil)
  }

  @Test func `a sweep removes only unreferenced blobs`() throws {
    let cache = try makeCache(directory)
    try cache.put("a", body(400_000))
    let kept = try #require(blobs(directory).first)
    let staged = try cache.stage(body(400_000))
    let other = (kept.hasPrefix("00") ? "01" : "00") + kept.dropFirst(2)
    for name in [other, String(kept.dropLast(1)) + (kept.last == "0" ? "1" : "0"), "00/anything", "tmp/1-1"] {
      directory.write("x", to: "default/blobs/\(name)")
    }
    #expect(try cache.sweepBlobs() == 3)
    #expect(blobs(directory).filter { !$0.hasPrefix("tmp/") } == [kept])
    #expect(blobs(directory).count == 2, "a file that a writer has locked is kept")
    try cache.write { (writer) throws(CacheError) in try writer.put("b", [], staged: staged) }
    #expect(try cache.cachedBody("b") == .bytes(body(400_000)))
    #expect(try cache.cachedBody("a") == .bytes(body(400_000)))
  }

  @Test func `opening removes the leftovers of a crashed writer`() throws {
    _ = try makeCache(directory)
    directory.write("x", to: "default/blobs/tmp/1-1")
    _ = try makeCache(directory)
    #expect(blobs(directory).isEmpty)
  }
}
