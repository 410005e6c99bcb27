import Base
import TestSupport
import Testing

@testable import Lists

/// Every entry is read by exactly one of a job's shards.
@Suite struct ShardedReadingTests {
  let directory = TemporaryDirectory()

  /// Manifests of every format, with bad lines, duplicates, entries of other priorities, and filtered ones.
  private func manifests() throws -> [URLList] {
    let texts = (0..<40).map { number in
      switch number % 8 {
      case 0: "no url \(number)"
      case 1: "https://img\(number % 3).example.com/same.jpg"
      case 2: "HTTPS://IMG.example.com:443/a/../\(number).jpg"
      case 3: "relative/\(number).png"
      default: "https://img\(number % 5).example.com/\(number).jpg"
      }
    }
    var text = directory.manifest(texts.map { "\($0)\n" }.joined(), name: "list.txt")
    text.baseURL = try BaseURL("https://base.example.com/")
    var filtered = directory.manifest(texts.map { "\($0)\n" }.joined(), name: "filtered.txt")
    filtered.include = [try URLPattern("*.jpg")]
    filtered.exclude = [try URLPattern("re:img1")]
    let rows = texts.enumerated().map { "\"\($1)\",\(["high", "low", "odd", ""][$0 % 4])\n" }.joined()
    let csv = directory.manifest("url,priority\n" + rows, name: "list.csv")
    let jsonl = directory.manifest(texts.map { "{\"url\":\"\($0)\"}\n" }.joined() + "{broken\n", name: "list.jsonl")
    let packed = directory.manifest(bytes: try gzip(texts.map { "\($0)\n" }.joined()), name: "list.txt.gz")
    let locations = texts.map { "<url><loc>\($0)</loc></url>\n" }.joined()
    let sitemap = directory.manifest("<urlset>\n\(locations)</urlset>", name: "sitemap.xml")
    var log = directory.manifest(
      (0..<60).map { "192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] \"GET /\($0 % 20).jpg HTTP/1.1\" 200 1 \"-\" \"-\"\n" }.joined(),
      name: "access.log"
    )
    log.format = .combined
    log.baseURL = try BaseURL("https://log.example.com")
    let inline = URLList(.inline(texts.enumerated().map { .init(text: $1, line: UInt64($0 + 5)) }), name: "urls")
    var limited = text
    limited.limit = 11
    return [text, filtered, csv, jsonl, packed, sitemap, log, inline, limited]
  }

  @Test(arguments: [EntryOrder.fifo, .lifo], [Shard.Rule.url, .host])
  func `every entry is in exactly one shard, in order`(order: EntryOrder, rule: Shard.Rule) throws {
    // One priority streams in FIFO order; several are spooled.
    for list in [try manifests().filter { !$0.name.hasSuffix(".csv") }, try manifests()] {
      let whole = try readAll(list, order: order)
      #expect(whole.failure == nil && whole.entries.contains(where: \.isFiltered) && whole.problems.contains { $0 != nil })
      for count in [1, 2, 7] {
        let shards = try (1...count).map { try readAll(list, order: order, shard: Shard(index: $0, count: count, by: rule)) }
        #expect(shards.reduce(0) { $0 + $1.entries.count } == whole.entries.count)
        #expect(shards.allSatisfy { $0.fingerprint == shards[0].fingerprint } && whole.fingerprint == nil)
        #expect(shards[0].fingerprint?.entries == UInt64(whole.entries.count))
        // Merged by their positions in the whole list, the entries are complete and in order.
        var rests = shards.map { $0.entries[...] }
        for entry in whole.entries {
          guard let shard = rests.firstIndex(where: { $0.first == entry }) else {
            Issue.record("\(entry) is out of place, or in no shard")
            return
          }
          rests[shard].removeFirst()
        }
      }
    }
  }

  @Test(arguments: [EntryOrder.fifo, .lifo])
  func `the files of a pattern and of an index are sharded too`(order: EntryOrder) throws {
    for file in 0..<3 {
      _ = directory.manifest((0..<20).map { "https://a.com/\(file)/\($0).jpg\nno url\n" }.joined(), name: "lists/\(file).txt")
    }
    let pattern = URLList(.glob(directory.file("lists/*.txt")), name: directory.file("lists/*.txt"))
    let urlsets = (0..<3).map { file in
      "<urlset>" + (0..<20).map { "<url><loc>https://b.com/\(file)/\($0).jpg</loc></url>" }.joined() + "</urlset>"
    }
    let index = "<sitemapindex>" + (0..<3).map { "<sitemap><loc>/\($0).xml</loc></sitemap>" }.joined() + "</sitemapindex>"
    let fetched = URLList(.url(try BaseURL("https://b.com/index.xml")), name: "https://b.com/index.xml")
    func read(_ shard: Shard?) throws -> [ReadEntry] {
      var answers = ["https://b.com/index.xml": FakeFetcher.Answer.text(index)]
      for (number, urlset) in urlsets.enumerated() { answers["https://b.com/\(number).xml"] = .text(urlset) }
      let result = try readAll([pattern, fetched], order: order, fetcher: FakeFetcher(answers), shard: shard)
      #expect(result.failure == nil && result.warnings.isEmpty && result.fingerprint?.entries == shard.map { _ in 180 })
      return result.entries
    }
    let whole = try read(nil)
    let shards = try (1...3).map { try read(Shard(index: $0, count: 3, by: .url)) }
    #expect(whole.count == 180 && shards.allSatisfy { !$0.isEmpty } && shards.reduce(0) { $0 + $1.count } == 180)
    for entry in whole { #expect(shards.count { $0.contains(entry) } == 1, "\(entry)") }
  }

  @Test func `sharding by host gives each host to one shard`() throws {
    let list = try manifests()
    var owners: [String: Set<Int>] = [:]
    for index in 1...5 {
      for entry in try readAll(list, shard: Shard(index: index, count: 5, by: .host)).entries where entry.problem == nil {
        owners[String(entry.url.split(separator: "/")[1]), default: []].insert(index)
      }
    }
    #expect(owners.count > 5 && owners.values.allSatisfy { $0.count == 1 } && Set(owners.values.joined()).count > 1)
  }

  @Test(arguments: [EntryOrder.fifo, .lifo]) func `the limit applies to all shards together`(order: EntryOrder) throws {
    var list = directory.manifest((0..<100).map { "https://a.com/\($0).jpg\nbad \($0)\n" }.joined())
    list.limit = 30
    let whole = try readAll([list], order: order)
    let shards = try (1...3).map { try readAll([list], order: order, shard: Shard(index: $0, count: 3, by: .url)) }
    #expect(Set(shards.flatMap(\.lines)) == Set(whole.lines) && shards.reduce(0) { $0 + $1.lines.count } == whole.lines.count)
    #expect(whole.urls.count { !$0.isEmpty } == 30)
    #expect(shards.allSatisfy { $0.fingerprint?.entries == UInt64(whole.lines.count) })
  }

  @Test func `a pipe is read to its end and returns only the shard's own entries`() throws {
    let text = (0..<500).map { "https://a.com/\($0).jpg\n" }.joined()
    let entries = try (1...4).map { index in
      let pipe = TestPipe(holding: Array(text.utf8))
      let shard = Shard(index: index, count: 4, by: .url)
      return try readAll([URLList(.standardInput, name: "-")], standardInput: pipe.readEnd, shard: shard).urls
    }
    #expect(Set(entries.joined()).count == 500 && entries.joined().count == 500)
  }

  @Test func `an empty shard knows that others have entries`() throws {
    let list = directory.manifest("https://img.example.com/hero.jpg\n")
    func reader(_ index: Int, _ list: URLList) throws -> ListReader {
      let shard = Shard(index: index, count: 5, by: .url)
      let reader = try ListReader([list], order: .fifo, spoolDirectory: directory.path, shard: shard)
      var batch = EntryBatch()
      while try reader.next(&batch, maximum: 10) {}
      #expect(batch.entries.count == (index == 2 && list.exclude.isEmpty ? 1 : 0))
      return reader
    }
    #expect(try reader(1, list).othersHaveEntries && !reader(2, list).othersHaveEntries)
    var filtered = list
    filtered.exclude = [try URLPattern("*")]
    #expect(try !reader(1, filtered).othersHaveEntries)
  }

  @Test func `progress counts only the shard's own entries`() throws {
    let list = directory.manifest((0..<1000).map { "https://a.com/\($0).jpg\n" }.joined())
    for order in [EntryOrder.fifo, .lifo] {
      let shard = Shard(index: 1, count: 4, by: .url)
      let reader = try ListReader([list], order: order, spoolDirectory: directory.path, shard: shard)
      var batch = EntryBatch()
      _ = try reader.next(&batch, maximum: 20)
      #expect((100...400).contains(reader.expectedEntries ?? 0))
      while try reader.next(&batch, maximum: 100) {}
      #expect(reader.expectedEntries == batch.entries.count && reader.counts[0].read == batch.entries.count)
    }
  }
}
