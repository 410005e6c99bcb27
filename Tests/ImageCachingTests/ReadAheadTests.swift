import CLMDB
import Base
import TestSupport
import Testing

@testable import ImageCaching

/// The pages of the index that are read ahead.
@Suite struct ReadAheadTests {
  let directory = TemporaryDirectory()

  private func statistics(_ cache: ImageCache) throws -> MDB_stat {
    try cache.environment.read { (transaction) throws(CacheError) in
      var statistics = MDB_stat()
      mdb_stat(transaction.handle, transaction.tables.entries, &statistics)
      return statistics
    }
  }

  private func leaves(_ cache: ImageCache) throws -> [Int] {
    guard let file = cache.environment.duplicateOfIndex() else {
      Issue.record("the index has no descriptor")
      return []
    }
    return try cache.environment.read { (transaction) throws(CacheError) in
      try IndexPages(file: file.number).leaves(of: "entries", in: transaction)
    }
  }

  @Test(arguments: [0, 1, 100, 6000])
  func `the pages of the records are found, each once, after changes too`(count: Int) throws {
    let cache = try makeCache(directory)
    for round in 0..<2 {
      try cache.write { (writer) throws(CacheError) in
        for number in 0..<count { try writer.put("\(round)/\(number)", body(300)) }
      }
    }
    let found = try leaves(cache)
    #expect(found.count == Int(try statistics(cache).ms_leaf_pages))
    #expect(Set(found).count == found.count && found == found.sorted())
    #expect(count < 6000 || found.count > 400)
  }

  @Test func `a small index isn't read ahead, a large one is, to its end or until it is released`() throws {
    let cache = try makeCache(directory)
    try cache.put("a", body(10))
    #expect(cache.readAhead() == nil)
    for batch in 0..<4 {
      try cache.write { (writer) throws(CacheError) in
        for number in 0..<64 { try writer.put("\(batch)/\(number)", body(100_000, seed: UInt8(number))) }
      }
    }
    #expect(cache.readAhead() != nil)
    #expect(try cache.counted().0 == 257)
  }
}
