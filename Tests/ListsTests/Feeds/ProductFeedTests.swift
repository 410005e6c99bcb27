import Base
import Lists
import TestSupport
import Testing

/// Product feeds of Google Merchant Center as XML.
@Suite struct ProductFeedTests {
  let directory = TemporaryDirectory()

  private static let rss = """
    <?xml version="1.0"?>
    <rss xmlns:g="http://base.google.com/ns/1.0" version="2.0">
    <channel>
    <title>Example - Online Store</title>
    <link>https://store.example.com</link>
    <description>An RSS 2.0 document with two items</description>
    <item>
    <g:id>TV_123456</g:id>
    <g:title>A streaming stick</g:title>
    <g:link>https://store.example.com/product/stick</g:link> <g:image_link>https://images.example.com/TV_123456.png</g:image_link>
    <g:additional_image_link>https://images.example.com/TV_123456-2.png</g:additional_image_link>
    <g:additional_image_link> https://images.example.com/TV_123456-3.png?w=800&amp;h=600 </g:additional_image_link>
    <g:lifestyle_image_link>https://images.example.com/room.jpg</g:lifestyle_image_link>
    <g:price>49.99 USD</g:price>
    <g:shipping><g:country>US</g:country><g:id>shipping</g:id><g:price>4.95 USD</g:price></g:shipping>
    </item>
    <item>
    <g:image_link><![CDATA[https://images.example.com/DB_1?a=1&b=2]]></g:image_link>
    <g:additional_image_link>https://images.example.com/DB_1?a=1&amp;b=2</g:additional_image_link>
    <g:additional_image_link/>
    <g:id>
      DB_1
    </g:id>
    </item>
    </channel>
    </rss>
    """

  @Test(
    arguments: [EntryOrder.fifo, .lifo]
  ) func `images of RSS items have their lines and the product's identifier, which may follow them`(order: EntryOrder) throws {
    let expected = [
      FeedImage(line: 10, url: "https://images.example.com/TV_123456.png", id: "TV_123456"),
      FeedImage(line: 11, url: "https://images.example.com/TV_123456-2.png", id: "TV_123456"),
      FeedImage(line: 12, url: "https://images.example.com/TV_123456-3.png?w=800&h=600", id: "TV_123456"),
      FeedImage(line: 13, url: "https://images.example.com/room.jpg", id: "TV_123456"),
      FeedImage(line: 18, url: "https://images.example.com/DB_1?a=1&b=2", id: "DB_1"),
    ]
    let images = try readImages(directory.manifest(Self.rss, name: "products.xml"), order: order)
    #expect(images == (order == .fifo ? expected : expected.reversed()))
  }

  @Test func `an Atom feed of products, whose own id isn't that of the product`() throws {
    let text = """
      <?xml version="1.0"?>
      <feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0">
      <title>Test Store</title>
      <id>tag:example.com,2026:/products</id>
      <link rel="self" href="http://www.example.com"/>
      <entry>
      <id>tag:example.com,2026:/products/1</id>
      <g:id>DB_1</g:id>
      <g:image_link>http://images.example.com/DB_1.png</g:image_link>
      </entry>
      <entry>
      <id>tag:example.com,2026:/products/2</id>
      <g:image_link>http://images.example.com/DB_2.png</g:image_link>
      </entry>
      <entry><g:image_link>http://images.example.com/DB_3.png</g:image_link></entry>
      </feed>
      """
    #expect(
      try readImages(directory.manifest(text, name: "products.xml")) == [
        FeedImage(line: 9, url: "http://images.example.com/DB_1.png", id: "DB_1"),
        FeedImage(line: 13, url: "http://images.example.com/DB_2.png", id: "tag:example.com,2026:/products/2"),
        FeedImage(line: 15, url: "http://images.example.com/DB_3.png", id: nil),
      ]
    )
  }

  @Test func `Google's namespace may have any prefix, be the default, or be undeclared`() throws {
    let item = { (prefix: String) in "<\(prefix)id>1</\(prefix)id><\(prefix)image_link>https://a.com/1</\(prefix)image_link>" }
    let texts = [
      "<rss xmlns:c='https://base.google.com/ns/1.0'><channel><item>\(item("c:"))</item></channel></rss>",
      "<rss xmlns='http://base.google.com/ns/1.0'><channel><item>\(item(""))</item></channel></rss>",
      "<rss><channel><item>\(item("g:"))</item></channel></rss>",
    ]
    for text in texts {
      let images = try readImages(directory.manifest(text, name: "feed.xml"))
      #expect(images == [FeedImage(line: 1, url: "https://a.com/1", id: "1")], "\(text)")
    }
    let other = "<rss xmlns:g='http://example.com/other'><channel><item>\(item("g:"))</item></channel></rss>"
    #expect(try readImages(directory.manifest(other, name: "feed.xml")).isEmpty)
  }

  @Test func `a product without its main image is an invalid entry`() throws {
    let text =
      "<rss><channel><item><g:id>1</g:id><g:image_link> </g:image_link>"
      + "<g:additional_image_link>https://a.com/2.jpg</g:additional_image_link></item></channel></rss>"
    let result = try readAll([directory.manifest(text, name: "feed.xml")])
    #expect(result.problems.map { $0 == nil } == [false, true] && result.entries.map(\.note?.id) == ["1", "1"])
    expectGolden(result.problems[0])
  }

  @Test func `a feed is recognised by its root element: as XML, by its beginning, and by the server's type`() throws {
    let short =
      "<rss xmlns:g='http://base.google.com/ns/1.0'><channel>"
      + "<item><g:image_link>1.jpg</g:image_link></item></channel></rss>"
    func manifest(_ url: String) throws -> URLList { URLList(.url(try BaseURL(url)), name: url) }
    let fetcher = FakeFetcher([
      "https://a.com/products.xml": .text(short), "https://a.com/feed": .text(short),
      "https://a.com/rss": .typed("application/rss+xml; charset=utf-8", "<!-- made by a shop -->\n" + short),
      "https://a.com/feed.xml.gz": .bytes(try gzip(Self.rss)),
    ])
    for path in ["products.xml", "feed", "rss"] {
      let result = try readAll([try manifest("https://a.com/\(path)")], fetcher: fetcher)
      #expect(result.urls == ["https://a.com/1.jpg"] && result.failure == nil, "\(path)")
    }
    #expect(try readAll([try manifest("https://a.com/feed.xml.gz")], fetcher: fetcher).urls.count == 5)
    #expect(try readAll([directory.manifest(Self.rss, name: "list")]).urls.count == 5)
    var feed = directory.manifest(Self.rss, name: "list.txt")
    feed.format = .feed
    #expect(try readAll([feed]).urls.count == 5)
  }

  @Test func `a format that is set must be that of the document`() throws {
    var feed = directory.manifest("<urlset><url><loc>https://a.com/1.jpg</loc></url></urlset>", name: "list.xml")
    feed.format = .feed
    expectGolden(try #require(throws: ListError.self) { try readAll([feed]) }.message)
    var sitemap = directory.manifest(Self.rss, name: "feed.xml")
    sitemap.format = .sitemap
    expectGolden(try #require(throws: ListError.self) { try readAll([sitemap]) }.message)
    let other = directory.manifest("<rdf:RDF/>", name: "other.xml")
    expectGolden(try #require(throws: ListError.self) { try readAll([other]) }.message)
  }

  @Test func `an index of sitemaps may name feeds`() throws {
    let fetcher = FakeFetcher(["https://a.com/feed.xml": .text(Self.rss)])
    let index = "<sitemapindex><sitemap><loc>https://a.com/feed.xml</loc></sitemap></sitemapindex>"
    var manifest = directory.manifest(index, name: "index.xml")
    manifest.format = .sitemap
    #expect(try readAll([manifest], fetcher: fetcher).urls.count == 5)
  }

  @Test func `images before a break are returned`() throws {
    let items = (1...2000).map { "<item><g:id>\($0)</g:id><g:image_link>https://a.com/\($0).jpg</g:image_link></item>\n" }
    let result = try readAll([directory.manifest("<rss><channel>\n" + items.joined() + "<item><g:image_", name: "feed.xml")])
    #expect(result.urls.count == 2000 && result.urls.last == "https://a.com/2000.jpg")
    #expect(result.failure?.line == 2002)
  }

  @Test func `newer-than and priorities of sitemaps don't apply to a feed`() throws {
    var manifest = directory.manifest(Self.rss, name: "feed.xml")
    manifest.newerThan = Timestamp(milliseconds: .max)
    manifest.usesSitemapPriority = true
    let result = try readAll([manifest])
    #expect(result.urls.count == 5 && result.warnings.isEmpty)
    #expect(result.entries.allSatisfy { $0.priority == .normal })
  }
}
