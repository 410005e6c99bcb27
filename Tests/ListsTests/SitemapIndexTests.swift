import Base
import TestSupport
import Testing

@testable import Lists

@Suite struct SitemapIndexTests {
  let directory = TemporaryDirectory()

  private func urlset(_ urls: String...) -> String {
    "<urlset>" + urls.map { "<url><loc>https://i.com/\($0).jpg</loc></url>" }.joined() + "</urlset>"
  }

  private func index(_ urls: [String]) -> String {
    "<sitemapindex>\n" + urls.map { "<sitemap><loc>\($0)</loc></sitemap>\n" }.joined() + "</sitemapindex>"
  }

  private func fetched(_ url: String) throws -> URLList { URLList(.url(try BaseURL(url)), name: maskingCredentials(url)) }

  @Test(arguments: [EntryOrder.fifo, .lifo]) func `indexes are followed depth first`(order: EntryOrder) throws {
    let fetcher = FakeFetcher([
      "https://a.com/index.xml": .text(index(["https://a.com/1.xml", "two/index.xml", "/3.xml.gz", "https://a.com/4.txt"])),
      "https://a.com/1.xml": .text(urlset("1a", "1b")), "https://a.com/two/index.xml": .text(index(["a.xml", "b.xml"])),
      "https://a.com/two/a.xml": .text(urlset("2a")),
      "https://a.com/two/b.xml": .text("<urlset><url><loc>//i.com/2b.jpg</loc></url></urlset>"),
      "https://a.com/3.xml.gz": .bytes(try gzip(urlset("3"))),
      "https://a.com/4.txt": .text("https://i.com/4.jpg\n5.jpg\n"),
    ])
    let after = directory.manifest("https://i.com/last.jpg\n", name: "after.txt")
    let result = try readAll([try fetched("https://a.com/index.xml"), after], order: order, fetcher: fetcher)
    let names = ["i.com/1a", "i.com/1b", "i.com/2a", "i.com/2b", "i.com/3", "i.com/4", "a.com/5", "i.com/last"]
    let expected = names.map { "https://\($0).jpg" }
    #expect(result.urls == (order == .fifo ? expected : expected.reversed()))
    let manifests =
      ["1.xml", "1.xml", "two/a.xml", "two/b.xml", "3.xml.gz", "4.txt", "4.txt"].map { "https://a.com/\($0)" } + ["after.txt"]
    #expect(result.entries.map(\.manifest) == (order == .fifo ? manifests : manifests.reversed()))
    #expect(result.failure == nil && result.warnings.isEmpty)
  }

  @Test func `each sitemap is read once, so loops end`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/i.xml": .text(
        index(["https://a.com/i.xml", "https://a.com/j.xml", "https://a.com/1.xml", "https://A.com:443/1.xml"])
      ),
      "https://a.com/j.xml": .text(index(["https://a.com/i.xml", "https://a.com/j.xml", "https://a.com/2.xml"])),
      "https://a.com/1.xml": .text(urlset("1")), "https://a.com/2.xml": .text(urlset("2")),
    ])
    let result = try readAll([try fetched("https://a.com/i.xml")], fetcher: fetcher)
    #expect(result.urls == ["https://i.com/2.jpg", "https://i.com/1.jpg"])
    #expect(fetcher.requested.count == 4)
    #expect(result.failure == nil)
  }

  @Test func `only URLs named by the user are trusted`() throws {
    let own = ["https://a.com/1.xml", "https://A.com:443/2.xml", "https://a.com/deep.xml"]
    let others = ["http://a.com/3.xml", "https://a.com:8443/4.xml", "https://b.com/5.xml", "https://b.com/index.xml"]
    let top = index(own + others)
    let answers: [String: FakeFetcher.Answer] = [
      "https://a.com/index.xml": .text(top),
      "https://a.com/deep.xml": .text(index(["https://c.com/6.xml"])),
      "https://b.com/index.xml": .text(index(["https://b.com/7.xml", "https://a.com/8.xml"])),
    ]
    let trusted = ["https://a.com/1.xml", "https://a.com/2.xml", "https://a.com/deep.xml", "https://a.com/8.xml"]
    let fetcher = FakeFetcher(answers)
    _ = try readAll([try fetched("https://a.com/index.xml")], fetcher: fetcher)
    #expect(Set(fetcher.requestedAsOwn) == Set(trusted + ["https://a.com/index.xml"]))
    #expect(fetcher.requested.count == 11)
    // A local index trusts all its URLs, as any list of the user's does; the files behind them trust only their own
    // origin.
    let local = FakeFetcher(answers)
    _ = try readAll([directory.manifest(top, name: "index.xml")], fetcher: local)
    let named = [
      "http://a.com/3.xml", "https://a.com:8443/4.xml", "https://b.com/5.xml", "https://b.com/index.xml", "https://b.com/7.xml",
    ]
    #expect(Set(local.requestedAsOwn) == Set(trusted.dropLast() + named))
    #expect(local.requested.count == 10)
  }

  @Test func `an endless index doesn't starve others`() throws {
    let known = Array(repeating: "https://a.com/index.xml", count: 5_000)
    let reader = try ListReader(
      [directory.manifest(index(known), name: "index.xml"), try fetched("https://a.com/index.xml")],
      order: .fifo,
      spoolDirectory: directory.path,
      fetcher: FakeFetcher(["https://a.com/index.xml": .text(index(known))])
    )
    var batch = EntryBatch()
    var turns = 0
    while try reader.nextAvailable(&batch, maximum: 10) != .end { turns += 1 }
    #expect(turns >= 8)
  }

  @Test func `the memory for sitemap URLs is limited`() throws {
    let padding = String(repeating: "x", count: 2048 - "https://a.com/00000/".utf8.count)
    let fetcher = FakeFetcher([
      "https://a.com/i.xml": .text(index(["https://a.com/00000/" + padding, "https://a.com/00000/x" + padding]))
    ])
    let result = try readAll([try fetched("https://a.com/i.xml")], fetcher: fetcher)
    #expect(fetcher.requested.map(\.utf8.count) == [19, 2048])
    #expect(result.warnings.filter { $0.contains("longer than 2048 bytes") }.count == 1)

    var tree = SitemapTree()
    let normalizer = URLNormalizer()
    let parent = ListFile(list: 0, name: "i")
    let allowed = SitemapTree.maximumBytes / 2048
    for number in 0..<allowed {
      let url = Array("https://a.com/\(String(number + 10_000))/\(padding)".utf8)
      let child = try url.withUnsafeBytes { try tree.child($0, of: parent, by: normalizer) }
      #expect(child != nil)
    }
    let error = #expect(throws: InputError.self) {
      try Array("https://a.com/last".utf8).withUnsafeBytes { _ = try tree.child($0, of: parent, by: normalizer) }
    }
    expectGolden(error?.message)
  }

  @Test func `the nesting of indexes is limited`() throws {
    var answers: [String: FakeFetcher.Answer] = [:]
    for depth in 0..<6 { answers["https://a.com/\(depth).xml"] = .text(index(["https://a.com/\(depth + 1).xml"])) }
    let result = try readAll([try fetched("https://a.com/0.xml")], fetcher: FakeFetcher(answers))
    expectGolden(result.failure?.message)
    #expect(result.failure?.manifest == "https://a.com/3.xml")
    #expect(result.failure?.line == 2)
  }

  @Test func `an unreadable sitemap is reported after everything else is read`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/i.xml": .text(
        index(["https://u:p@a.com/gone.xml", "https://a.com/cut.xml", "ftp://a.com/x.xml", "https://a.com/1.xml"])
      ),
      "https://u:p@a.com/gone.xml": .failure("the server answered 404 Not Found"),
      "https://a.com/cut.xml": .text("<urlset><url><loc>https://i.com/c.jpg</loc></url>"),
      "https://a.com/1.xml": .text(urlset("1")),
    ])
    for order in [EntryOrder.fifo, .lifo] {
      let after = directory.manifest("https://i.com/last.jpg\n", name: "after.txt")
      let result = try readAll([try fetched("https://a.com/i.xml"), after], order: order, fetcher: fetcher)
      let expected = ["https://i.com/c.jpg", "https://i.com/1.jpg", "https://i.com/last.jpg"]
      #expect(result.urls == (order == .fifo ? expected : expected.reversed()))
      expectGolden(result.failure?.message)
      #expect(result.warnings.count == 3)
      expectGolden(result.warnings.sorted().joined(separator: "\n"))
      #expect(!result.warnings.joined().contains("u:p"))
    }
  }

  @Test func `a truncated index returns its sitemaps before the error`() throws {
    let fetcher = FakeFetcher(["https://a.com/1.xml": .text(urlset("1"))])
    let manifest = directory.manifest("<sitemapindex><sitemap><loc>https://a.com/1.xml</loc></sitemap>", name: "i.xml")
    let result = try readAll([manifest], fetcher: fetcher)
    #expect(result.urls == ["https://i.com/1.jpg"])
    #expect(result.failure?.manifest == "i.xml")
  }

  @Test func `a local index is followed if a fetcher is available`() throws {
    let manifest = directory.manifest(index(["https://a.com/1.xml"]), name: "i.xml")
    #expect(
      try readAll([manifest], fetcher: FakeFetcher(["https://a.com/1.xml": .text(urlset("1"))])).urls == ["https://i.com/1.jpg"]
    )
    expectGolden(try readAll([manifest]).failure?.message)
    let url = try fetched("https://u:p@a.com/s.xml")
    let error = #expect(throws: ListError.self) { try readAll([url]) }
    #expect(error?.manifest == "https://***@a.com/s.xml")
  }

  @Test func `the first sitemap's entries arrive while others are fetched`() throws {
    let children = (1...9).map { "https://a.com/\($0).xml" }
    var answers = Dictionary(uniqueKeysWithValues: children.map { ($0, FakeFetcher.Answer.held(urlset("x"))) })
    answers["https://a.com/i.xml"] = .text(index(children))
    answers["https://a.com/1.xml"] = .text(urlset("1"))
    let fetcher = FakeFetcher(answers)
    let reader = try ListReader(
      [try fetched("https://a.com/i.xml")],
      order: .fifo,
      spoolDirectory: directory.path,
      fetcher: fetcher
    )
    #expect(fetcher.requested.isEmpty)
    var batch = EntryBatch()
    func untilStill() throws -> ListReader.Status {
      while true {
        let status = try reader.nextAvailable(&batch, maximum: 100)
        if status != .more { return status }
      }
    }
    #expect(try untilStill() == .waiting)
    #expect(batch.entries(of: reader).map(\.url) == ["https://i.com/1.jpg"])
    // The next ones are being fetched, but not all.
    #expect(fetcher.requested.count == 1 + 5)
    #expect(reader.waitDescriptor != nil && reader.expectedEntries == nil)
    for child in children.dropFirst() {
      #expect(try untilStill() == .waiting)
      fetcher.finish(child)
    }
    #expect(try untilStill() == .end)
    #expect(batch.entries.count == 9)
  }

  @Test func `a limit stops the fetching`() throws {
    let children = (1...9).map { "https://a.com/\($0).xml" }
    var answers = Dictionary(uniqueKeysWithValues: children.map { ($0, FakeFetcher.Answer.text(urlset("x", "y"))) })
    answers["https://a.com/i.xml"] = .text(index(children))
    let fetcher = FakeFetcher(answers)
    var manifest = try fetched("https://a.com/i.xml")
    manifest.limit = 3
    let after = directory.manifest("https://i.com/last.jpg\n", name: "after.txt")
    let reader = try ListReader([manifest, after], order: .fifo, spoolDirectory: directory.path, fetcher: fetcher)
    var batch = EntryBatch()
    while try reader.next(&batch, maximum: 1) {}
    #expect(batch.entries.count == 4)
    #expect(fetcher.requested.count < 8)
    #expect(!fetcher.cancelled.isEmpty)
  }

  @Test func `an index's dates count`() throws {
    let text = """
      <sitemapindex><sitemap><loc>https://a.com/old.xml</loc><lastmod>2020-01-01</lastmod></sitemap>
      <sitemap><loc>https://a.com/new.xml</loc><lastmod>2030-01-01</lastmod></sitemap></sitemapindex>
      """
    let fetcher = FakeFetcher(["https://a.com/new.xml": .text(urlset("new"))])
    var manifest = directory.manifest(text, name: "i.xml")
    manifest.newerThan = Timestamp(milliseconds: 1_763_640_000_000)
    #expect(try readAll([manifest], fetcher: fetcher).urls == ["https://i.com/new.jpg"])
    #expect(fetcher.requested == ["https://a.com/new.xml"])
  }

  @Test func `fetched lists may have any format`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/list.txt": .text("1.jpg\n"), "https://a.com/list.csv": .text("url,priority\nhttps://a.com/2,high\n"),
      "https://a.com/get?list": .typed("text/csv; charset=utf-8", "url,priority\nhttps://a.com/3,very-high\n"),
      "https://a.com/map": .typed("application/xml", urlset("4")),
      "https://a.com/rows": .typed("application/jsonl", "{\"url\": \"/5\"}"),
      "https://a.com/error": .typed("text/html", "\n<!DOCTYPE HTML><title>Sorry</title>"),
    ])
    let urls = ["list.txt", "list.csv", "get?list", "map", "rows"]
    let result = try readAll(try urls.map { try fetched("https://a.com/\($0)") }, fetcher: fetcher)
    #expect(
      result.urls == ["https://a.com/3", "https://a.com/2", "https://a.com/1.jpg", "https://i.com/4.jpg", "https://a.com/5"]
    )
    let page = try readAll([try fetched("https://a.com/error")], fetcher: fetcher)
    #expect(page.failure?.message.contains("HTML") == true)
    let gone = try readAll([try fetched("https://a.com/gone")], fetcher: fetcher)
    #expect(
      gone.failure
        == ListError(manifest: "https://a.com/gone", message: "cannot fetch it: the server answered 404 Not Found")
    )
  }
}
