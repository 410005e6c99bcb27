import Base
import Lists
import TestSupport
import Testing

/// Sitemaps whose pages are read.
@Suite struct SitemapPagesTests {
  let directory = TemporaryDirectory()

  private func urlset(_ entries: String...) -> String {
    "<urlset>" + entries.map { "<url>\($0)</url>\n" }.joined() + "</urlset>"
  }

  private func loc(_ url: String) -> String { "<loc>\(url)</loc>" }

  private func image(_ url: String) -> String { "<image:image><image:loc>\(url)</image:loc></image:image>" }

  private func sitemap(_ url: String, _ set: (inout URLList) throws -> Void = { _ in }) throws -> URLList {
    var manifest = URLList(.url(try BaseURL(url)), name: url)
    manifest.readsPages = true
    try set(&manifest)
    return manifest
  }

  @Test(arguments: [EntryOrder.fifo, .lifo])
  func `pages follow the images of the sitemaps, which they don't list again`(order: EntryOrder) throws {
    let fetcher = FakeFetcher([
      "https://a.com/index.xml": .text(
        "<sitemapindex><sitemap><loc>1.xml</loc></sitemap><sitemap><loc>2.xml</loc></sitemap></sitemapindex>"
      ),
      "https://a.com/1.xml": .text(urlset(loc("/p1") + image("https://i.com/listed.jpg"), loc("/3.jpg"))),
      "https://a.com/2.xml": .text(urlset(loc("/p2") + image("https://i.com/listed.jpg"), loc("https://a.com/p1"))),
      "https://a.com/p1": .text("<img src=https://i.com/listed.jpg><img src=1.png><img src=/shared.png>"),
      "https://a.com/p2": .text("<img src=2.png><img src=/shared.png><img src=/3.jpg><a href=/p3>more</a>"),
    ])
    let result = try readAll([try sitemap("https://a.com/index.xml")], order: order, fetcher: fetcher)
    let expected = [
      "https://i.com/listed.jpg", "https://a.com/3.jpg", "https://a.com/1.png", "https://a.com/shared.png", "https://a.com/2.png",
    ]
    #expect(result.urls == (order == .fifo ? expected : expected.reversed()))
    #expect(fetcher.requested == ["index.xml", "1.xml", "2.xml", "p1", "p2"].map { "https://a.com/\($0)" })
    #expect(result.failure == nil && result.warnings.isEmpty)
    let pages = Dictionary(uniqueKeysWithValues: result.entries.map { ($0.url, $0.note?.pages) })
    #expect(pages["https://a.com/shared.png"] == 2 && pages["https://a.com/1.png"] == 1)
    #expect(result.entries.first { $0.url == "https://a.com/2.png" }?.manifest == "https://a.com/p2")
  }

  @Test func `links of the pages are followed as far as a crawl allows`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/s.xml": .text(urlset(loc("https://a.com/"), loc("https://a.com/private/x"))),
      "https://a.com/": .text("<img src=0.jpg><a href=/1></a><a href=/private/y></a><a href=https://b.com/></a>"),
      "https://a.com/1": .text("<img src=1.jpg><a href=/2></a><a href=/></a>"),
    ])
    let manifest = try sitemap("https://a.com/s.xml") {
      $0.crawl.depth = 1
      $0.crawl.exclude = [try URLPattern("/private/**")]
    }
    let result = try readAll([manifest], fetcher: fetcher)
    #expect(result.urls == ["https://a.com/0.jpg", "https://a.com/1.jpg"])
    #expect(fetcher.requested == ["s.xml", "", "1"].map { "https://a.com/\($0)" })
    #expect(result.failure == nil && result.warnings.isEmpty)
  }

  // MARK: Undecided

  private func undecided(_ url: String, _ pages: URLList.SitemapPages = .undecided) throws -> URLList {
    try sitemap(url) { $0.sitemapPages = pages }
  }

  @Test func `a sitemap that lists only pages is an error, until it is said whether they are read`() throws {
    let pages = urlset(loc("https://a.com/1"), loc("https://a.com/2"))
    let texts: [String: FakeFetcher.Answer] = [
      "https://a.com/pages.xml": .text(pages), "https://a.com/images.xml": .text(urlset(loc("/1.jpg"))),
      "https://a.com/mixed.xml": .text(urlset(loc("/1.jpg"), loc("/1"))), "https://a.com/1": .text("<img src=p.jpg>"),
      "https://a.com/2": .text("<img src=q.jpg>"),
      "https://a.com/index.xml": .text(
        "<sitemapindex><sitemap><loc>pages.xml</loc></sitemap><sitemap><loc>images.xml</loc></sitemap></sitemapindex>"
      ),
      "https://a.com/robots.txt": .text("Sitemap: https://a.com/pages.xml\n"),
    ]
    func read(_ name: String, _ pages: URLList.SitemapPages) throws -> ReadResult {
      try readAll([try undecided("https://a.com/\(name)", pages)], fetcher: FakeFetcher(texts))
    }
    for name in ["pages.xml", "index.xml", "robots.txt"] {
      let result = try read(name, .undecided)
      #expect(result.failure?.manifest == "https://a.com/pages.xml" && result.urls.count == (name == "index.xml" ? 1 : 0))
      expectGolden(result.failure?.message)
      let ignored = try read(name, .ignored)
      #expect(ignored.failure == nil && ignored.urls.count == (name == "index.xml" ? 1 : 0))
      for kind in [URLList.SitemapPages.read, .readWithoutImages] {
        let read = try read(name, kind)
        #expect(read.failure == nil && Set(read.urls).isSuperset(of: ["https://a.com/p.jpg", "https://a.com/q.jpg"]))
      }
    }
    let mixed = try read("mixed.xml", .undecided)
    #expect(mixed.failure == nil && mixed.urls == ["https://a.com/1.jpg"])
    expectGolden(mixed.warnings.joined(separator: "\n"))
    #expect(try read("mixed.xml", .ignored).warnings.isEmpty)
    // A local one is known before the run.
    var local = directory.manifest(pages, name: "sitemap.xml")
    let error = #expect(throws: ListError.self) { try readAll([local]) }
    #expect(error?.manifest == "sitemap.xml" && error?.message.contains("2 pages") == true)
    local.include = [try URLPattern("*")]
    #expect(try readAll([local]).urls == ["https://a.com/1", "https://a.com/2"])
  }

  @Test func `pages of entries without images are read; an image without an extension is an entry, and other files aren't`()
    throws
  {
    let fetcher = FakeFetcher([
      "https://a.com/s.xml": .text(
        urlset(loc("/1") + image("https://i.com/1.jpg"), loc("/2"), loc("/photo"), loc("/terms.pdf"), loc("/3.jpg"))
      ),
      "https://a.com/1": .text("<img src=no.jpg>"), "https://a.com/2": .text("<img src=2.jpg>"),
      "https://a.com/photo": .bytes(SampleImages.jpeg(1)), "https://a.com/terms.pdf": .typed("application/pdf", "%PDF-1.7"),
    ])
    let result = try readAll([try undecided("https://a.com/s.xml", .readWithoutImages)], fetcher: fetcher)
    #expect(
      result.urls == ["https://i.com/1.jpg", "https://a.com/3.jpg", "https://a.com/2.jpg", "https://a.com/photo"]
        && result.failure == nil && result.warnings.isEmpty
    )
    #expect(!fetcher.requested.contains("https://a.com/1"))
    // A page that isn't a sitemap is read as before.
    let page = try readAll(
      [try undecided("https://a.com/2", .readWithoutImages)].map {
        var page = $0
        page.isOfAnyKind = true
        return page
      },
      fetcher: FakeFetcher(["https://a.com/2": .typed("text/html", "<img src=2.jpg>")])
    )
    #expect(page.urls == ["https://a.com/2.jpg"] && page.entries[0].note?.pages == 1)
  }

  @Test func `more pages than the usual number are an error that says how many were read, a number that was set a warning`()
    throws
  {
    var texts = Dictionary(
      uniqueKeysWithValues: (1...1003).map { ("https://a.com/\($0)", FakeFetcher.Answer.text("<img src=1.jpg>")) }
    )
    texts["https://a.com/s.xml"] = .text("<urlset>" + (1...1003).map { "<url>\(loc("/\($0)"))</url>" }.joined() + "</urlset>")
    let usual = try readAll([try sitemap("https://a.com/s.xml")], fetcher: FakeFetcher(texts))
    #expect(usual.urls == ["https://a.com/1.jpg"])
    expectGolden(usual.failure?.message)
    let set = try readAll([try sitemap("https://a.com/s.xml") { $0.crawl.pages = 1000 }], fetcher: FakeFetcher(texts))
    #expect(set.failure == nil)
    expectGolden(set.warnings.joined(separator: "\n"))
    #expect(
      try readAll([try sitemap("https://a.com/s.xml") { $0.crawl.pages = 1003 }], fetcher: FakeFetcher(texts)).warnings.isEmpty
    )
  }

  @Test func `pages of other sites are an error after all entries, unless the crawl allows or excludes them`() throws {
    let texts = [
      "https://cdn.com/s.xml": FakeFetcher.Answer.text(
        urlset(loc("https://a.com/1"), loc("https://b.com/1"), loc("http://a.com/2"), loc("https://a.com/3"))
      ),
      "https://a.com/1": .text("<img src=1.jpg>"), "https://a.com/3": .text("<img src=3.jpg>"),
      "https://b.com/1": .text("<img src=1.jpg>"), "http://a.com/2": .text("<img src=2.jpg>"),
    ]
    let fetcher = FakeFetcher(texts)
    let result = try readAll([try sitemap("https://cdn.com/s.xml")], fetcher: fetcher)
    #expect(result.urls == ["https://a.com/1.jpg", "https://a.com/3.jpg"])
    expectGolden(result.failure?.message)
    // The server of a sitemap doesn't decide who gets the user's secrets.
    #expect(fetcher.requestedAsOwn == ["https://cdn.com/s.xml"])
    let all = try readAll([try sitemap("https://cdn.com/s.xml") { $0.crawl.sameSite = false }], fetcher: FakeFetcher(texts))
    #expect(all.urls.count == 4 && all.warnings.isEmpty)
  }

  @Test func `the number of pages is limited, and lost pages and invalid URLs are errors after all entries`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/s.xml": .text(urlset(loc("/1"), loc("ftp://a.com/x"), loc("/2"), loc("/3"), loc(" "))),
      "https://a.com/1": .text("<img src=1.jpg>"),
    ])
    let result = try readAll([try sitemap("https://a.com/s.xml") { $0.crawl.pages = 2 }], fetcher: fetcher)
    #expect(result.urls == ["https://a.com/1.jpg"])
    #expect(fetcher.requested.count == 3 && result.warnings.count == 3)
    result.warnings.forEach { expectGolden($0) }
    expectGolden(result.failure.map { "\($0)" })
  }

  @Test func `links of a page that redirects belong to the site where it leads`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/s.xml": .text(urlset(loc("http://a.com/1"))),
      "http://a.com/1": .moved(to: "https://a.com/1", "<img src=1.jpg><a href=/2>"), "https://a.com/2": .text("<img src=2.jpg>"),
    ])
    let result = try readAll([try sitemap("https://a.com/s.xml") { $0.crawl.depth = 1 }], fetcher: fetcher)
    #expect(result.urls == ["https://a.com/1.jpg", "https://a.com/2.jpg"] && result.failure == nil)
  }

  @Test func `a local sitemap's pages are the user's own`() throws {
    let text = urlset(loc("https://a.com/1"), loc("https://a.com/2.jpg"))
    let fetcher = FakeFetcher(["https://a.com/1": .text("<img src=1.jpg>")])
    var manifest = directory.manifest(text, name: "sitemap.xml")
    manifest.readsPages = true
    #expect(try readAll([manifest], fetcher: fetcher).urls == ["https://a.com/2.jpg", "https://a.com/1.jpg"])
    #expect(fetcher.requestedAsOwn == ["https://a.com/1"])
    let offline = try readAll([manifest])
    #expect(offline.urls == ["https://a.com/2.jpg"])
    #expect(offline.failure?.manifest == "https://a.com/1")
  }

  @Test func `include chooses among images, and newer-than among pages`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/s.xml": .text(
        urlset(loc("/new") + "<lastmod>2030-01-01</lastmod>", loc("/old") + "<lastmod>2020-01-01</lastmod>")
      ),
      "https://a.com/new": .text("<img src=1.jpg><img src=2.png>"),
    ])
    let manifest = try sitemap("https://a.com/s.xml") {
      $0.include = [try URLPattern("*.png")]
      $0.newerThan = Timestamp(milliseconds: 1_763_640_000_000)
    }
    let result = try readAll([manifest], fetcher: fetcher)
    #expect(result.entries.filter { !$0.isFiltered }.map(\.url) == ["https://a.com/2.png"])
    #expect(fetcher.requested == ["https://a.com/s.xml", "https://a.com/new"])
  }

  @Test func `a limit of entries stops the reading of pages`() throws {
    let pages = (1...50).map { "https://a.com/\($0)" }
    var texts = Dictionary(uniqueKeysWithValues: pages.map { ($0, FakeFetcher.Answer.text("<img src=\($0).jpg>")) })
    texts["https://a.com/s.xml"] = .text("<urlset>" + pages.map { "<url>\(loc($0))</url>" }.joined() + "</urlset>")
    let fetcher = FakeFetcher(texts)
    let result = try readAll([try sitemap("https://a.com/s.xml") { $0.limit = 3 }], fetcher: fetcher)
    #expect(result.urls.count == 3 && fetcher.requested.count < 12)
  }

  @Test func `ten thousand pages are read in flat memory`() async {
    await #expect(processExitsWith: .success) {
      let count = 10_000
      let pages = (1...count).map { "https://www.example.com/catalogue/products/category-\($0 % 100)/product-\($0).html" }
      let page = FakeFetcher.Answer.text("<img src=/logo.png><img src=1.jpg>")
      var texts = Dictionary(uniqueKeysWithValues: pages.map { ($0, page) })
      texts["https://www.example.com/s.xml"] = .text(
        "<urlset>" + pages.map { "<url><loc>\($0)</loc></url>\n" }.joined() + "</urlset>"
      )
      let directory = TemporaryDirectory()
      var manifest = URLList(.url(try BaseURL("https://www.example.com/s.xml")), name: "s.xml")
      manifest.readsPages = true
      manifest.crawl.pages = count
      let fetcher = FakeFetcher(texts, forgets: true)
      let reader = try ListReader([manifest], order: .fifo, spoolDirectory: directory.path, fetcher: fetcher)
      var batch = EntryBatch()
      _ = try reader.nextAvailable(&batch, maximum: 1)
      // Products of a category share the name of their image.
      let entries = try countEntries(of: reader, growth: 16_000)
      precondition(entries == 101 && reader.warnings.isEmpty)
    }
  }
}
