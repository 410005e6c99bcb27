import Base
import Lists
import TestSupport
import Testing

/// Reading damaged manifests ends with entries and an error, never with anything else.
@Suite struct DamagedListTests {
  private let sitemap = """
    <?xml version="1.0" encoding="UTF-8"?><!DOCTYPE urlset [<!ATTLIST url a CDATA "b">]>
    <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:i="http://www.google.com/schemas/sitemap-image/1.1">
    <url><loc>https://a.com/1.jpg</loc><lastmod>2026-11-21T09:00:00.5+01:00</lastmod><priority>0.7</priority></url>
    <url><loc><![CDATA[https://a.com/2]]></loc><i:image><i:loc>https://a.com/&amp;&#x33;.jpg</i:loc></i:image></url>
    <sitemap><loc>https://a.com/s.xml</loc></sitemap><!-- c --><?p i?></urlset>
    """
  private let log = """
    192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] "GET /a\\x22\\".jpg HTTP/1.1" 200 5120 "-" "x"
    2001:db8::1 - user [21/Nov/2026:09:00:00 +0000] "GET http://b.com/2.png HTTP/2.0" 304 0

    """

  @Test func `a manifest damaged anywhere ends with an error, not a crash`() throws {
    let directory = TemporaryDirectory()
    var random = SeededRandom(seed: 2026)
    for (text, format) in [(sitemap, URLList.Format.sitemap), (log, .combined), (sitemap, .auto)] {
      for _ in 0..<300 {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let place = Int.random(in: 0..<bytes.count, using: &random)
          switch Int.random(in: 0..<4, using: &random) {
          case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
          case 1: bytes.removeSubrange(place..<min(place + Int.random(in: 1...30, using: &random), bytes.count - 1))
          case 2: bytes.insert(contentsOf: bytes[place..<min(place + 20, bytes.count)], at: place)
          default: bytes.removeSubrange(max(place, 1)...)
          }
        }
        var manifest = directory.manifest(bytes: bytes, name: "damaged")
        manifest.format = format
        manifest.newerThan = Timestamp(milliseconds: 0)
        manifest.usesSitemapPriority = true
        // Opening may throw already.
        let result = Result { try readAll([manifest], maximum: 2, fetcher: FakeFetcher([:])) }
        if case .success(let read) = result { #expect(read.entries.count < 20) }
      }
    }
  }
}
