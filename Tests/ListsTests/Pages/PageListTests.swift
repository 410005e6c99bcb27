import Base
import TestSupport
import Testing

@testable import Lists

/// Manifests that are pages.
@Suite struct PageListTests {
  private func page(_ url: String, _ set: (inout URLList.Crawl) -> Void = { _ in }) throws -> URLList {
    var manifest = URLList(.url(try BaseURL(url)), name: url)
    manifest.format = .page
    set(&manifest.crawl)
    return manifest
  }

  private func unknown(_ url: String) throws -> URLList {
    var manifest = URLList(.url(try BaseURL(url)), name: url)
    manifest.isOfAnyKind = true
    return manifest
  }

  @Test func `entries are the images of a page and of its stylesheets, each once, with the line of its element`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/p/": .text(
        """
        <link rel=stylesheet href=/css/a.css>
        <img src=1.jpg srcset="1.jpg 1x, 2.jpg 2x">
        <p><img src=/p/1.jpg>
        """
      ),
      "https://a.com/css/a.css": .text("@import 'b.css';\n@import 'a.css';\nb { background: url(3.png) }"),
      "https://a.com/css/b.css": .text("b { background: url(4.png), url(/p/2.jpg) }"),
    ])
    let result = try readAll([try page("https://a.com/p/")], fetcher: fetcher)
    #expect(result.failure == nil && result.warnings.isEmpty)
    #expect(
      result.entries.map(\.description).map { $0.replacing(" normal ", with: "") } == [
        "https://a.com/p/:2 https://a.com/p/1.jpg", "https://a.com/p/:2 https://a.com/p/2.jpg",
        "https://a.com/css/a.css:3 https://a.com/css/3.png", "https://a.com/css/b.css:1 https://a.com/css/4.png",
      ]
    )
    #expect(fetcher.requested.count == 3)
  }

  @Test func `a crawl reads each page once, the nearest first, within its depth, its site and its patterns`() throws {
    func links(_ image: String, _ targets: String...) -> FakeFetcher.Answer {
      .text("<img src=/\(image).jpg>" + targets.map { "<a href='\($0)'>x</a>" }.joined())
    }
    let fetcher = FakeFetcher([
      "https://a.com/": links("0", "/1", "/2#part", "/private/x", "https://b.com/", "mailto:a@b.c"),
      "https://a.com/1": links("1", "/", "/3"), "https://a.com/2": links("2", "/1"), "https://a.com/3": links("3", "/4"),
      "https://a.com/4": links("4"),
    ])
    let result = try readAll(
      [
        try page("https://a.com/") {
          $0.depth = 2
          $0.exclude = [try! URLPattern("/private/**")]
        }
      ],
      fetcher: fetcher
    )
    #expect(result.urls == (0...3).map { "https://a.com/\($0).jpg" })
    #expect(fetcher.requested == ["https://a.com/", "https://a.com/1", "https://a.com/2", "https://a.com/3"])
    #expect(result.failure == nil && result.warnings.isEmpty)
  }

  @Test func `a crawl ends at its number of pages, with a warning; links that are gone are warnings, too`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/": .text("<a href=/1></a><a href=/2></a><a href=/3></a><img src=0.jpg>"),
      "https://a.com/2": .text("<img src=2.jpg>"),
    ])
    let manifest = try page("https://a.com/") { ($0.depth, $0.pages) = (1, 3) }
    let result = try readAll([manifest], fetcher: fetcher)
    #expect(result.urls == ["https://a.com/0.jpg", "https://a.com/2.jpg"] && result.failure == nil)
    result.warnings.forEach { expectGolden($0) }
    #expect(result.warnings.count == 2 && !fetcher.requested.contains("https://a.com/3"))
  }

  @Test func `links aren't followed if the page forbids it`() throws {
    for (start, link) in [("<meta name=robots content=nofollow>", "<a href=/1>"), ("", "<a rel=nofollow href=/1>")] {
      let fetcher = FakeFetcher(["https://a.com/": .text("\(start)<img src=0.jpg>\(link)")])
      let result = try readAll([try page("https://a.com/") { $0.depth = 1 }], fetcher: fetcher)
      #expect(result.urls == ["https://a.com/0.jpg"] && fetcher.requested.count == 1)
    }
  }

  @Test func `a stylesheet that can't be fetched is an error after all entries`() throws {
    let fetcher = FakeFetcher(["https://a.com/": .text("<link rel=stylesheet href=a.css><img src=0.jpg>")])
    let result = try readAll([try page("https://a.com/")], fetcher: fetcher)
    #expect(result.urls == ["https://a.com/0.jpg"])
    #expect(result.failure?.manifest == "https://a.com/a.css")
  }

  @Test func `the images of a web app manifest are those of its page, by its own URL`() throws {
    let json = """
      {"name": "a", "start_url": "/no.png", "icons": [{"src": "i/1.png", "sizes": "192x192", "type": "image/png"}, {"src": "/2.svg"}],
      "screenshots": [{"src": "data:,x"}, {"src": "3.jpg"}], "shortcuts": [{"url": "/no.jpg", "icons": [{"src": "../4.png"}]}]}
      """
    let pages = ["https://a.com/", "https://a.com/1"].map { page in
      (page, FakeFetcher.Answer.text("<link rel=manifest href=/app/site.webmanifest><a href=/1></a><img src=0.jpg>"))
    }
    for body in [FakeFetcher.Answer.text(json), .typed("application/json", "\u{FEFF}" + json)] {
      let fetcher = FakeFetcher(Dictionary(uniqueKeysWithValues: pages + [("https://a.com/app/site.webmanifest", body)]))
      let result = try readAll([try page("https://a.com/") { $0.depth = 1 }], fetcher: fetcher)
      #expect(result.urls == ["0.jpg", "app/i/1.png", "2.svg", "app/3.jpg", "4.png"].map { "https://a.com/" + $0 })
      #expect(result.entries.map { $0.note?.pages } == [2, 2, 2, 2, 2])
      #expect(result.entries[1].note?.origin == PageOrigin(element: "manifest", attribute: "src"))
      #expect(result.failure == nil && result.warnings.isEmpty && fetcher.requested.count == 3)
    }
  }

  @Test func `a web app manifest that can't be read is a warning`() throws {
    let answers: [FakeFetcher.Answer?] = [
      nil, .typed("text/html", "<!doctype html>"), .text("{"), .text(String(repeating: "[", count: 100)),
    ]
    for (number, answer) in answers.enumerated() {
      let page = FakeFetcher.Answer.text("<link rel=manifest href=/m.json><img src=0.jpg>")
      var fetched = ["https://a.com/": page]
      fetched["https://a.com/m.json"] = answer
      let result = try readAll([try self.page("https://a.com/")], fetcher: FakeFetcher(fetched))
      #expect(result.urls == ["https://a.com/0.jpg"] && result.failure == nil && result.warnings.count == 1)
      expectGolden(result.warnings.first, for: "\(number)")
    }
  }

  @Test(arguments: ["https://a.com/", "https://a.com/1"])
  func `a page that can't be read to its end is an error after its entries, linked or not`(url: String) throws {
    let attributes = (0..<600).map { " a\($0)" }.joined()
    var pages = ["https://a.com/": FakeFetcher.Answer.text("<a href=/1></a><img src=0.jpg>")]
    pages[url] = .text("<img src=1.jpg>\n<p\(attributes)><img src=2.jpg>")
    let result = try readAll([try page("https://a.com/") { $0.depth = 1 }], fetcher: FakeFetcher(pages))
    #expect(result.urls.last == "https://a.com/1.jpg" && result.warnings.isEmpty == (url == "https://a.com/"))
    #expect(result.failure?.manifest == url && result.failure?.line == 2)
  }

  @Test func `a manifest's page must be one, by its type or by its first bytes`() throws {
    let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13]
    let others: [(String, FakeFetcher.Answer)] = [
      ("image", .bytes(png)), ("PDF", .typed("application/pdf", "%PDF-1.7")), ("JSON", .text(#"{"error": 1}"#)),
      ("text", .typed("text/plain; charset=utf-8", "<img src=0.jpg>")), ("feed", .text("<?xml version='1.0'?><rss></rss>")),
      ("data", .bytes([1, 0, 2])),
    ]
    for (name, answer) in others {
      let result = try readAll([try page("https://a.com/")], fetcher: FakeFetcher(["https://a.com/": answer]))
      #expect(result.entries.isEmpty)
      expectGolden(result.failure?.message, for: name)
    }
    let pages: [FakeFetcher.Answer] = [
      .typed("Application/XHTML+XML;charset=utf-8", "<img src='0.jpg'/>"), .typed("text/plain", "<!doctype html><img src=0.jpg>"),
      .typed("text/html", "<img src=0.jpg>"), .text("<img src=0.jpg>"),
    ]
    for answer in pages {
      let result = try readAll([try page("https://a.com/")], fetcher: FakeFetcher(["https://a.com/": answer]))
      #expect(result.urls == ["https://a.com/0.jpg"] && result.failure == nil)
    }
  }

  @Test func `a file that isn't a page is named as one`() throws {
    let directory = TemporaryDirectory()
    var manifest = directory.manifest(#"[1, "a"]"#, name: "page.html")
    manifest.format = .page
    manifest.baseURL = try BaseURL("https://a.com/")
    let error = #expect(throws: ListError.self) { try readAll([manifest]) }
    expectGolden(error?.message)
  }

  @Test func `links to other files than pages are skipped`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/": .text("<a href=/1.pdf></a><a href=/2.gif></a><a href=/3></a><img src=0.jpg>"),
      "https://a.com/1.pdf": .typed("application/pdf", "%PDF-1.7 <img src=1.jpg>"),
      "https://a.com/2.gif": .typed("image/gif", "GIF89a<img src=2.jpg>"), "https://a.com/3": .text("<p><img src=3.jpg>"),
    ])
    let result = try readAll([try page("https://a.com/") { $0.depth = 1 }], fetcher: fetcher)
    #expect(result.urls == ["https://a.com/2.gif", "https://a.com/0.jpg", "https://a.com/3.jpg"])
    // An image isn't requested as a page.
    #expect(result.failure == nil && result.warnings.isEmpty && fetcher.requested.count == 3)
  }

  @Test func `base-url is that of the manifest's own page, not of its stylesheets and links`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/css/a.css": .text("a { b: url(1.jpg) }"), "https://a.com/b/2": .text("<img src=2.jpg>"),
    ])
    let directory = TemporaryDirectory()
    var manifest = directory.manifest("<link rel=stylesheet href=css/a.css><img src=0.jpg><a href=/b/2>", name: "page.html")
    manifest.format = .page
    manifest.baseURL = try BaseURL("https://a.com/")
    manifest.crawl.depth = 1
    let result = try readAll([manifest], fetcher: fetcher)
    #expect(result.urls == ["https://a.com/0.jpg", "https://a.com/css/1.jpg", "https://a.com/b/2.jpg"])
    #expect(fetcher.requestedAsOwn.count == 2)
  }

  @Test func `sizes aren't claimed for placeholders of lazy images, and a place without a size counts beside others`() throws {
    let text = """
      <img src=0.gif data-src=1.jpg data-srcset='2.jpg 300w' width=640 height=480>
      <img src=3.jpg width=100 height=75><img src=3.jpg>
      """
    let result = try readAll([try page("https://a.com/")], fetcher: FakeFetcher(["https://a.com/": .text(text)]))
    let claims = result.entries.map { $0.note?.claims ?? [] }
    #expect(claims.count == 4 && claims[0].isEmpty)
    #expect(claims[1].map(\.width) == [640] && claims[2].map(\.hasSizes) == [true])
    #expect(claims[3].map(\.width) == [100, nil])
  }

  @Test func `an HTML page instead of a stylesheet is an error`() throws {
    for answer in [
      FakeFetcher.Answer.typed("text/html", "a { b: url(1.jpg) }"), .text("<!doctype html><p style='a: url(1.jpg)'>"),
    ] {
      let fetcher = FakeFetcher(["https://a.com/": .text("<link rel=stylesheet href=a.css>"), "https://a.com/a.css": answer])
      let result = try readAll([try page("https://a.com/")], fetcher: fetcher)
      #expect(result.entries.isEmpty)
      expectGolden(result.failure.map { "\($0)" })
    }
  }

  @Test func `a linked page that redirects to another site is skipped with a warning`() throws {
    let fetcher = FakeFetcher([
      "https://a.com/": .text("<a href=/1></a><a href=/2></a>"),
      "https://a.com/1": .moved(to: "https://b.com/1", "<img src=1.jpg>"),
      "https://a.com/2": .moved(to: "https://a.com/x/2", "<img src=2.jpg>"),
    ])
    let result = try readAll([try page("https://a.com/") { $0.depth = 1 }], fetcher: fetcher)
    #expect(result.urls == ["https://a.com/x/2.jpg"] && result.failure == nil)
    result.warnings.forEach { expectGolden($0) }
    #expect(
      try readAll([try page("https://a.com/") { ($0.depth, $0.sameSite) = (1, false) }], fetcher: fetcher).urls
        == ["https://b.com/1.jpg", "https://a.com/x/2.jpg"]
    )
  }

  @Test func `attributes of images that load later can be chosen`() throws {
    let text = "<img data-src=0.jpg Data-Image=1.jpg data-image-srcset='2.jpg 1x, 3.jpg 2x' data-srcset=4.jpg>"
    var manifest = try page("https://a.com/")
    manifest.lazyAttributes = ["data-IMAGE", "data-image-srcset"]
    let result = try readAll([manifest], fetcher: FakeFetcher(["https://a.com/": .text(text)]))
    #expect(result.urls == (1...3).map { "https://a.com/\($0).jpg" })
  }

  @Test func `the response decides what a URL of unknown kind is`() throws {
    let cases: [(FakeFetcher.Answer, [String])] = [
      (.typed("text/html; charset=utf-8", "<img src=0.jpg>"), ["https://a.com/0.jpg"]),
      (.text("<!doctype html><img src=0.jpg>"), ["https://a.com/0.jpg"]),
      (.text("https://a.com/0.jpg\n"), ["https://a.com/0.jpg"]),
      (.text("<urlset><url><loc>https://a.com/0.jpg</loc></url></urlset>"), ["https://a.com/0.jpg"]),
      (.typed("image/svg+xml", "<svg/>"), ["https://a.com/x"]),
    ]
    for (answer, urls) in cases {
      let result = try readAll([try unknown("https://a.com/x")], fetcher: FakeFetcher(["https://a.com/x": answer]))
      #expect(result.urls == urls && result.failure == nil)
    }
    let missing = FakeFetcher(["https://a.com/x": .failure("the server answered 404 Not Found")])
    let result = try readAll([try unknown("https://a.com/x")], fetcher: missing)
    #expect(result.urls == [] && result.failure?.message == "cannot fetch it: the server answered 404 Not Found")
  }
}
