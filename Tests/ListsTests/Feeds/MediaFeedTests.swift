import Base
import Lists
import TestSupport
import Testing

/// RSS and Atom feeds of articles, with enclosures and Media RSS.
@Suite struct MediaFeedTests {
  let directory = TemporaryDirectory()

  private func images(_ text: String, set: (inout URLList) -> Void = { _ in }) throws -> [FeedImage] {
    var manifest = directory.manifest(text, name: "feed.xml")
    set(&manifest)
    return try readImages(manifest)
  }

  private func urls(_ text: String) throws -> [String] { try images(text).map(\.url) }

  private func item(_ elements: String) -> String {
    "<rss version='2.0' xmlns:media='http://search.yahoo.com/mrss/'><channel><item>\(elements)</item></channel></rss>"
  }

  @Test func `an RSS feed of articles`() throws {
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom"
        xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd">
        <channel>
          <title>Song Site</title>
          <link>http://www.foo.com</link>
          <atom:link href="http://www.foo.com/feed" rel="self" type="application/rss+xml"/>
          <itunes:image href="http://www.foo.com/podcast.jpg"/>
          <image>
            <url>http://www.foo.com/logo.gif</url>
            <title>Song Site</title>
            <link>http://www.foo.com</link>
          </image>
          <item>
            <title>A band and its album</title>
            <enclosure url="http://www.foo.com/cover.jpg" length="12345" type="image/jpeg"/>
            <enclosure url="http://www.foo.com/song.mp3" length="12345" type="audio/mpeg"/>
            <media:group>
              <media:content url="http://www.foo.com/song64kbps.mp3" fileSize="1000" type="audio/mpeg"/>
              <media:content url="http://www.foo.com/large.png" medium="image" width="1200" height="800">
                <media:thumbnail url="http://www.foo.com/small.png" width="120" height="80"/>
              </media:content>
            </media:group>
            <media:thumbnail url="http://www.foo.com/cover.jpg"/>
            <guid isPermaLink="false">band-1</guid>
          </item>
        </channel>
      </rss>
      """
    #expect(
      try images(text) == [
        FeedImage(line: 10, url: "http://www.foo.com/logo.gif", id: nil),
        FeedImage(line: 16, url: "http://www.foo.com/cover.jpg", id: "band-1"),
        FeedImage(line: 20, url: "http://www.foo.com/large.png", id: "band-1"),
        FeedImage(line: 21, url: "http://www.foo.com/small.png", id: "band-1"),
      ]
    )
  }

  @Test func `an Atom feed with enclosures, a logo and an icon; references are relative to it`() throws {
    let text = """
      <feed xmlns="http://www.w3.org/2005/Atom">
      <title>Photos</title>
      <logo>/logo.png</logo>
      <icon>
        /favicon.ico
      </icon>
      <entry>
        <id>urn:uuid:1225c695-cfb8-4ebb-aaaa-80da344efa6a</id>
        <source><id>urn:source</id><logo>/other.png</logo></source>
        <link href="/2026/1.html"/>
        <link rel="enclosure" type="image/webp" href="/2026/1.webp"/>
        <link rel="enclosure" type="video/mp4" href="/2026/1.mp4"/>
        <link rel="enclosure" href="/2026/2.JPG?s=1"/>
        <link rel="enclosure" href="/2026/3.html"/>
      </entry>
      </feed>
      """
    let fetcher = FakeFetcher(["https://a.com/atom.xml": .text(text)])
    let manifest = URLList(.url(try BaseURL("https://a.com/atom.xml")), name: "atom")
    let id = "urn:uuid:1225c695-cfb8-4ebb-aaaa-80da344efa6a"
    #expect(
      try readImages(manifest, fetcher: fetcher) == [
        FeedImage(line: 3, url: "https://a.com/logo.png", id: nil),
        FeedImage(line: 4, url: "https://a.com/favicon.ico", id: nil),
        FeedImage(line: 11, url: "https://a.com/2026/1.webp", id: id),
        FeedImage(line: 13, url: "https://a.com/2026/2.JPG?s=1", id: id),
      ]
    )
  }

  @Test func `an enclosure counts by its type or else its extension, and media:content by its medium before them`() throws {
    let cases: [(element: String, isImage: Bool)] = [
      ("enclosure url='https://a.com/x' type='image/png'", true), ("enclosure url='https://a.com/x' type=' IMAGE/WEBP '", true),
      ("enclosure url='https://a.com/x.png' type='text/html'", false), ("enclosure url='https://a.com/x.png'", true),
      ("enclosure url='https://a.com/x.png' type=''", true), ("enclosure url='https://a.com/x'", false),
      ("enclosure type='image/png'", false), ("enclosure url='' type='image/png'", false),
      ("media:content url='https://a.com/x' medium='image'", true),
      ("media:content url='https://a.com/x.jpg' medium='video'", false),
      ("media:content url='https://a.com/x' medium='image' type='application/octet-stream'", true),
      ("media:content url='https://a.com/x' type='image/avif'", true), ("media:content url='https://a.com/x.jpg'", true),
      ("media:content url='https://a.com/x.jpg' type='video/mp4'", false), ("media:content url='https://a.com/x'", false),
      ("media:content medium='image'", false), ("media:thumbnail url='https://a.com/x'", true),
    ]
    for (element, isImage) in cases { #expect(try urls(item("<\(element)/>")).count == (isImage ? 1 : 0), "\(element)") }
  }

  @Test func `Media RSS may lack the slash of its namespace, or its declaration`() throws {
    let content = "<channel><item><media:content url='https://a.com/1.jpg'/></item></channel></rss>"
    #expect(try urls("<rss xmlns:media='http://search.yahoo.com/mrss'>\(content)") == ["https://a.com/1.jpg"])
    #expect(try urls("<rss>\(content)") == ["https://a.com/1.jpg"])
    #expect(try urls("<rss xmlns:media='http://example.com/'>\(content)").isEmpty)
  }

  @Test func `each image counts once per item`() throws {
    let item = "<item><enclosure url='https://a.com/1.jpg'/><media:thumbnail url=' https://a.com/1.jpg '/></item>"
    #expect(try urls("<rss><channel>\(item)\(item)</channel></rss>") == ["https://a.com/1.jpg", "https://a.com/1.jpg"])
    // One without a URL doesn't count.
    #expect(try urls("<rss><channel><image><url> </url></image></channel></rss>").isEmpty)
  }

  @Test func `an identifier is at most 256 bytes long`() throws {
    let long = String(repeating: "x", count: 1 << 20)
    let images = try images(item("<guid>\(long)</guid><enclosure url='https://a.com/1.jpg'/>"))
    #expect(images.map { $0.id?.utf8.count } == [256])
  }

  @Test func `a feed without images is reported`() throws {
    let text = item("<title>a</title><enclosure url='https://a.com/1.mp3' type='audio/mpeg'/>")
    let result = try readAll([directory.manifest(text, name: "feed.xml")])
    #expect(result.entries.isEmpty && result.warnings.count == 1)
    expectGolden(result.warnings.first)
  }

  @Test func `include and exclude filter a feed's images`() throws {
    var manifest = directory.manifest(
      item("<enclosure url='https://a.com/1.jpg'/><enclosure url='https://a.com/2.png'/>"),
      name: "feed.xml"
    )
    manifest.include = [try URLPattern("*.png")]
    #expect(try readAll([manifest]).entries.map(\.isFiltered) == [true, false])
  }

  @Test func `items, images and texts without end take no memory`() throws {
    let many = (0..<10_001).map { "<media:thumbnail url='https://a.com/\($0)'/>\n" }.joined()
    let crowded = try readAll([directory.manifest(item(many), name: "feed.xml")])
    #expect(crowded.failure?.message.contains("10000 locations") == true)
    let long = String(repeating: "x", count: 1 << 20)
    let text =
      "<rss><channel><item><g:image_link>https://a.com/\(long)</g:image_link></item>"
      + "<item><g:image_link>https://a.com/1.jpg</g:image_link></item></channel></rss>"
    let result = try readAll([directory.manifest(text, name: "feed.xml")])
    #expect(result.problems.map { $0 == nil } == [false, true] && result.failure == nil)
    let nested = try readAll([directory.manifest(item(String(repeating: "<a>", count: 1000)), name: "feed.xml")])
    #expect(nested.failure?.message.contains("nested") == true)
  }
}
