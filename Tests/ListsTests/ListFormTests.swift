import Glibc
import Base
import TestSupport
import Testing

@testable import Lists

/// Files that are read as the lists they are, or refused before anything is requested.
@Suite struct ListFormTests {
  let directory = TemporaryDirectory()

  private func read(_ bytes: [UInt8], name: String = "list", set: (inout URLList) -> Void = { _ in }) throws -> ReadResult {
    var manifest = directory.manifest(bytes: bytes, name: name)
    manifest.baseURL = try BaseURL("https://a.com")
    set(&manifest)
    return try readAll([manifest])
  }

  private func read(_ text: String, name: String = "list", set: (inout URLList) -> Void = { _ in }) throws -> ReadResult {
    try read(Array(text.utf8), name: name, set: set)
  }

  // MARK: Refused

  private static let others: [(name: String, text: String)] = [
    ("css", "body {\n  margin: 0;\n}\n.hero {\n  background: url(/a.jpg);\n}\n"),
    ("css of names", "html,\nbody {\n  margin: 0;\n}\n"),
    ("comment", "/* main */\n.a {\n  color: red;\n}\n"), ("minified css", ".a{color:red}.b{color:#fff}"),
    ("javascript", "import x from './x.js';\n\nconst a = \"/a.jpg\";\n"),
    ("minified javascript", "!function(){var a=\"/a.jpg\"}();"),
    ("markdown", "# Title\n\nSome words about it.\n\n![alt](/a.jpg)\n"), ("bullets", "- one thing\n- [two](/b.jpg)\n"),
    ("yaml", "images:\n  - src: /a.jpg\n    alt: x y\n"), ("job", "version: 1\nname: x\nmanifests:\n  - path: a.txt\n"),
    ("ini", "[images]\nfirst = /a.jpg\n"), ("environment", "HOME=/root\nIMAGE=/a.jpg\n"), ("shell", "#!/bin/sh\ncurl /a.jpg\n"),
    ("downloads", "wget https://a.com/1.jpg\nwget https://a.com/2.jpg\n"),
    ("prose", "This page shows a cat.\nThe cat is asleep.\n"), ("counts", "   12 /a.jpg\n    3 /b.jpg\n"),
    ("error log", "2026/11/21 09:00:00 [error] 7#7: *1 open() \"/a.jpg\" failed (2: No such file)\n"),
    ("unquoted log", "192.0.2.7 [21/Nov/2026:09:00:00 +0000] GET /a.jpg HTTP/1.1 a.com 200 5120\n"),
    ("syslog", "<134>1 2026-11-21T09:00:00Z web nginx - - - hello world\n"),
    ("table", "https://a.com/1.jpg\tone\t640\nhttps://a.com/2.jpg\ttwo\t640\n"),
    ("csv", "https://a.com/1.jpg,one,640\nhttps://a.com/2.jpg,two,640\n"),
    ("ids", "7,https://a.com/1.jpg\n8,https://a.com/2.jpg\n"), ("header", "name;image\none;/1.jpg\ntwo;/2.jpg\n"),
    ("json", #"{"items": [{"src": "/a.jpg"}], "more": [{"src": "/b.jpg"}]}"#),
    ("svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
    ("xml", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"),
  ]

  @Test(arguments: others) func `a file that isn't a list is refused in one sentence`(_ name: String, text: String) throws {
    let result: ReadResult
    do {
      result = try read(text)
    } catch {
      result = ReadResult(failure: error as? ListError)
    }
    #expect(result.urls.filter { !$0.isEmpty } == [])
    expectGolden(result.failure?.description, for: name)
    // With its format said, its lines still don't become URLs.
    guard !["json", "svg", "xml", "header", "environment"].contains(name) else { return }
    let urls = try read(text) { $0.format = .text }.entries.filter { $0.problem == nil }.map(\.url)
    #expect(urls.allSatisfy { $0.hasPrefix("https://a.com/") && !$0.contains("%20") }, "\(urls)")
  }

  @Test(
    arguments: [
      ("parquet", Array("PAR1".utf8) + [0x15, 0]), ("zip", [0x50, 0x4b, 3, 4, 20, 0]), ("pdf", Array("%PDF-1.7\n".utf8)),
      ("xlsx", [0x50, 0x4b, 3, 4] + Array(repeating: 0, count: 26) + Array("[Content_Types].xml".utf8)),
      ("ods", [0x50, 0x4b, 3, 4] + Array(repeating: 0, count: 26) + Array("mimetypeapplication/vnd.oasis.opendocument".utf8)),
      ("orc", Array("ORC".utf8) + [0]), ("arrow", Array("ARROW1".utf8) + [0, 0]), ("feather", Array("FEA1".utf8) + [0]),
      ("arrow stream", [0xff, 0xff, 0xff, 0xff, 16, 0, 0, 0]), ("avro", Array("Obj".utf8) + [1, 4]),
      ("bzip2", Array("BZh9".utf8) + [0]),
      ("sqlite", Array("SQLite format 3".utf8) + [0]), ("xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]),
      ("lz4", [4, 0x22, 0x4d, 0x18, 0]),
      ("7z", [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]), ("rar", Array("Rar!".utf8) + [0x1a, 7]), ("Z", [0x1f, 0x9d, 0x90, 0]),
      ("xls", [0xd0, 0xcf, 0x11, 0xe0, 0]), ("tar", Array("a.txt".utf8) + Array(repeating: 0, count: 252) + Array("ustar".utf8)),
      ("utf-16", [0x68, 0, 0x74, 0, 0x74, 0, 0x70, 0]), ("jpeg", SampleImages.jpeg(1)), ("zstd", [0x28, 0xb5, 0x2f, 0xfd, 4, 0]),
      ("other", [1, 2, 0, 3]),
    ] as [(String, [UInt8])]
  )
  func `a binary file is named, with its conversion`(_ name: String, bytes: [UInt8]) throws {
    let error = try #require(throws: ListError.self) { try read(bytes) }
    expectGolden(error.message, for: name)
    // A name or an option that says otherwise doesn't change what it is.
    guard !["jpeg", "utf-16", "other", "tar"].contains(name) else { return }
    for format in [URLList.Format.text, .csv, .jsonl, .sitemap, .combined] {
      #expect(throws: error) { try read(bytes) { $0.format = format } }
    }
    #expect(throws: ListError.self) { try read(bytes, name: "list.csv") }
  }

  @Test func `a line of a text list is a URL or a path, with spaces only in the name of a file`() throws {
    let good = [
      "https://h/my photo.jpg", "https://h/q?x=a b&y=1", "https://h/my photos/a b.jpg?v=2", "HTTPS://h/a", "http://h:8080",
      "https://h/?q={\"a\":1}|b",
      "https://h/w_1,h_2/a.jpg", "https://h/a.jpg;w=3", "//h.com/a.jpg", "/a b.png", "b c.png", "IMG (1).jpg",
      "2024 summer/a.jpg",
      "products/1", "?id=3", "hero", "café.jpg", "../a.jpg", "/r?u=https://x/y", "https://h/r?u=https://x/a.jpg,b",
    ]
    let bad = [
      "https://h/a.jpg 200", "https://h/a.jpg hero image", "https://h/a.jpg # note", "https://h/a.jpg https://h/b.jpg",
      "https://h/a.jpg b.jpg", "https://h/a b", "https://h/?text=a b", "https://h/?x=1 https://h/?a&b", "https://h/a.jpg\tb.jpg",
      "https://h x/a.jpg",
      "https://h/a  b.jpg", "https://h/a /b.jpg", "GET /a.jpg", "200 https://h/a.jpg", "- a.jpg", "* a b.jpg", "</div>", "{", "}",
      "\"https://h/a.jpg\",", "a.jpg,", "margin: 0;", "---", "key=value", "a|b", "<img src=a.jpg>", "/* a", "// a note",
      "x,https://h/a.jpg",
    ]
    var manifest = directory.manifest((good + bad).joined(separator: "\n"), name: "list.txt")
    manifest.baseURL = try BaseURL("https://a.com")
    for order in [EntryOrder.fifo, .lifo] {
      let result = try readAll([manifest], order: order, maximum: 7)
      let valid = Set(result.entries.filter { $0.problem == nil }.map(\.line))
      #expect(
        valid == Set((1...good.count).map { UInt64($0) }),
        "\(result.entries.filter { valid.contains($0.line) != ($0.line <= good.count) })"
      )
      #expect(result.entries.count == good.count + bad.count)
    }
  }

  // MARK: Access logs

  private static let logs: [(name: String, lines: String)] = [
    ("common", #"192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] "GET /a.jpg HTTP/1.1" 200 5120"#),
    ("virtual host", #"www.a.com:443 192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] "GET /a.jpg HTTP/1.1" 200 5120 "-" "curl""#),
    ("user name with spaces", #"192.0.2.7 - Ann Lee [21/Nov/2026:09:00:00 +0000] "GET /a.jpg HTTP/1.1" 200 5120 "-" "x""#),
    ("forwarded addresses", #"192.0.2.7, 10.0.0.1 - - [21/Nov/2026:09:00:00 +0000] "GET /a.jpg HTTP/1.1" 200 5120 "-" "x""#),
    ("quoted addresses", #""192.0.2.7, 10.0.0.1" 10.0.0.2 - - [21/Nov/2026:09:00:00 +0000] "GET /a.jpg HTTP/1.1" 200 5 "-" "x""#),
    ("IPv6", #"[2001:db8::1]:443 2001:db8::7 - - [21/Nov/2026:09:00:00 +0000] "GET /a.jpg HTTP/2.0" 200 5 "-" "x" 0.003 "y""#),
    ("syslog", #"Nov 21 09:00:00 web nginx: 192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] "GET /a.jpg HTTP/1.1" 200 5 "-" "x""#),
    (
      "syslog with priority",
      #"<190>Nov 21 09:00:00 web nginx: 192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] "GET /a.jpg HTTP/1.1" 200 5"#
    ),
    (
      "Traefik",
      #"192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] "GET /a.jpg HTTP/1.1" 200 5 "-" "x" 12 "web@docker" "http://10.0.0.5:80" 3ms"#
    ),
    ("Varnish", #"192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] "GET http://a.com/a.jpg HTTP/1.1" 200 5120 "-" "x""#),
    ("uvicorn", #"INFO:     192.0.2.7:50000 - "GET /a.jpg HTTP/1.1" 200 OK"#),
    (
      "S3",
      #"79a5 bucket [21/Nov/2026:09:00:00 +0000] 192.0.2.7 - 3E57 REST.GET.OBJECT a.jpg "GET /a.jpg HTTP/1.1" 200 - 113 113 7 6 "-" "S3" -"#
    ),
    (
      "classic load balancer",
      #"2026-11-21T09:00:00.628Z my-lb 192.0.2.7:2817 10.0.0.1:80 0.00007 0.001 0.00005 200 200 0 29 "GET https://a.com:443/a.jpg HTTP/1.1" "curl" - -"#
    ),
    (
      "application load balancer",
      #"h2 2026-11-21T09:00:00.186Z app/lb/50dc 192.0.2.7:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET https://a.com:443/a.jpg HTTP/2.0" "curl" E T arn:aws "Root=1-5""#
    ),
    (
      "HAProxy",
      #"Nov 21 09:00:00 lb haproxy[14389]: 192.0.2.7:33317 [21/Nov/2026:09:00:00.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {a.com} {} "GET /a.jpg HTTP/1.1""#
    ),
    ("Squid", "1795251600.450    327 192.0.2.7 TCP_MISS/200 4310 GET http://a.com/a.jpg - HIER_DIRECT/192.0.2.9 image/jpeg"),
    (
      "CloudFront",
      "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs-uri-query\n"
        + "2026-11-21\t09:00:00\tLAX1\t2390282\t192.0.2.7\tGET\td1.cloudfront.net\t/a.jpg\t200\t-\t-"
    ),
    (
      "IIS",
      "#Software: Microsoft Internet Information Services 10.0\n#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port sc-status\n"
        + "2026-11-21 09:00:00 10.0.0.1 GET /a.jpg - 443 200"
    ),
    (
      "Caddy",
      #"{"level":"info","ts":1,"logger":"http.log.access","request":{"method":"GET","host":"a.com","uri":"/a.jpg","headers":{"Referer":["/b.jpg"]}},"size":5,"status":200}"#
    ),
    ("nginx JSON", #"{"time":"x","request_uri":"/a.jpg","request_method":"GET","status":"200","http_referer":"/b.jpg"}"#),
    ("JSON with a request line", #"{"remote":"192.0.2.7","request":"GET /a.jpg HTTP/1.1","status":200}"#),
    (
      "Cloudflare",
      #"{"ClientRequestHost":"a.com","ClientRequestMethod":"GET","ClientRequestURI":"/a.jpg","EdgeResponseStatus":200}"#
    ),
    ("Traefik JSON", #"{"DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/a.jpg","RequestHost":"a.com"}"#),
    ("Google", #"{"httpRequest":{"requestMethod":"GET","requestUrl":"https://a.com/a.jpg","status":200}}"#),
    ("Docker", #"{"log":"192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] \"GET /a.jpg HTTP/1.1\" 200 5\n","stream":"stdout"}"#),
    ("Fastly", #"<134>2026-11-21T09:00:00Z cache-1 logs[1]: {"url":"/a.jpg","request_method":"GET","response_status":200}"#),
  ]

  @Test(arguments: logs) func `an access log is read in its own form`(_ name: String, lines: String) throws {
    // A rotated log may begin with a part of a line.
    let both = lines + "\n" + lines.replacing("a.jpg", with: "c.jpg")
    for (text, names) in [(lines, ["a"]), (both, ["a", "c"]), ("20 \"-\" \"curl\"\n\(lines)\n", ["a"])] {
      #expect(try read(text).urls == names.map { "https://a.com/\($0).jpg" }, "\(text)")
    }
    // Requests that failed, or aren't a GET, aren't entries.
    for (word, other) in [("200", "404"), ("GET", "POST")] {
      let none = try read(lines.replacing(word, with: other))
      #expect(none.urls.isEmpty && none.warnings.count == 1, "\(none)")
    }
  }

  @Test func `queries of CloudFront and its double escapes are those of the request, and #Fields may change`() throws {
    let fields = "#Fields: x-edge-location cs-method cs-uri-stem sc-status cs-uri-query\n"
    let text =
      fields + "LAX\tGET\t/a%2520b.jpg\t200\tw=%2525\nLAX\tGET\t/c.jpg\t304\t-\ncut\n"
      + "#Fields: cs-uri-stem cs-method sc-status\n/d.jpg GET 200\n"
    let result = try read(text)
    #expect(
      result.urls.map { $0.lowercased() } == ["https://a.com/a%20b.jpg?w=%25", "https://a.com/c.jpg", "https://a.com/d.jpg"]
    )
    #expect(result.warnings.count == 1)
  }

  @Test func `a JSON log's field may be chosen`() throws {
    let text = #"{"msg": {"target": "/a.jpg", "referer": "/b.jpg"}}"# + "\n"
    for format in [URLList.Format.combined, .jsonl, .auto] {
      let result = try read(text + text) {
        $0.format = format
        $0.columns.url = "msg.target"
      }
      #expect(Set(result.urls) == ["https://a.com/a.jpg"])
      #expect(result.urls.count == (format == .combined ? 1 : 2))
    }
  }

  // MARK: JSON, CSV and encodings

  @Test(arguments: [
    #"["/1.jpg", "https://a.com/2.jpg"]"#, "[\n  \"/1.jpg\",\n  \"/2.jpg\"\n]\n",
    #"[{"url": "/1.jpg"}, {"url": "/2.jpg", "x": [1]}]"#,
    "{\n  \"count\": 2,\n  \"errors\": [],\n  \"images\": [\n    {\"url\": \"/1.jpg\"},\n    {\"url\": \"/2.jpg\"}\n  ]\n}",
    #"{"data": {"images": ["/1.jpg", "/2.jpg"]}}"#, "{\n  \"url\": \"/1.jpg\"\n}\n{\n  \"url\": \"/2.jpg\"\n}\n",
    "\"/1.jpg\"\n\"/2.jpg\"\n", "{\"url\": \"/1.jpg\"}\n{\"url\": \"/2.jpg\"}",
  ])
  func `a JSON document is read`(_ text: String) throws {
    for name in ["list", "list.json", "list.jsonl"] {
      let result = try read(text, name: name)
      #expect(result.urls == ["https://a.com/1.jpg", "https://a.com/2.jpg"], "\(result)")
      #expect(result.failure == nil)
    }
    let pipe = TestPipe(holding: Array(text.utf8))
    var piped = URLList(.standardInput, name: "-")
    piped.baseURL = try BaseURL("https://a.com")
    #expect(try readAll([piped], standardInput: pipe.readEnd).urls.count == 2)
  }

  @Test func `a large JSON document is read as it arrives, up to where it is broken`() throws {
    let elements = (0..<20_000).map { "  {\"url\": \"https://a.com/\($0).jpg\",\n   \"alt\": \"a]\\\"}\"}" }
    let text = "{\"images\": [\n" + elements.joined(separator: ",\n")
    let whole = try read(text + "]}")
    #expect(whole.urls.count == 20_000 && whole.failure == nil && whole.lines.last == 40_000)
    let cut = try read(text)
    #expect(cut.urls.count == 20_000)
    expectGolden(cut.failure?.message)
    // An element may be longer than a row, and so may its strings.
    let escaped = try read(#"[{"url": "https:\/\/a.com/1.jpg", "alt": ""# + String(repeating: "\\n", count: 70_000) + "\"}]")
    #expect(escaped.urls == ["https://a.com/1.jpg"])
  }

  @Test(arguments: [
    ("list.csv", "title;url\n\"a; b\";https://a.com/1.jpg\n"), ("list.csv", "title\turl\na, b\thttps://a.com/1.jpg\n"),
    ("list.csv", "sep=;\r\ntitle;url\r\na;https://a.com/1.jpg\r\n"),
    ("list.csv", "\u{feff}\"sep=\t\"\ntitle\turl\na\thttps://a.com/1.jpg\n"),
    ("list.csv", "url\nhttps://a.com/1.jpg\n"), ("list", "sep=;\nurl;title\nhttps://a.com/1.jpg;x\n"),
    ("list", "url,title\nhttps://a.com/1.jpg,\"a, b\"\n"), ("list.txt", "title|url\nx|https://a.com/1.jpg\n"),
    ("list", "id\timage_link\n7\thttps://a.com/1.jpg\n"), ("list.tsv", "a,url,c\turl\n\"x,\ty\"\thttps://a.com/1.jpg\n"),
  ])
  func `the header of a table shows its delimiter`(_ name: String, text: String) throws {
    let result = try read(text, name: name)
    #expect(result.urls == ["https://a.com/1.jpg"], "\(result)")
  }

  @Test(arguments: [false, true])
  func `UTF-16 with a byte order mark is read in every format, also byte by byte`(isBigEndian: Bool) throws {
    let texts = [
      "https://a.com/é😀.jpg\r\n", "url;x\nhttps://a.com/é😀.jpg;1\n", "[\"https://a.com/é😀.jpg\"]",
      "{\"url\": \"https://a.com/é😀.jpg\"}\n",
      "<?xml version=\"1.0\" encoding=\"utf-16\"?><urlset><url><loc>https://a.com/é😀.jpg</loc></url></urlset>",
      "<!doctype html><meta charset=utf-16><img src=\"https://a.com/é😀.jpg\">",
    ]
    for text in texts {
      let units = "\u{feff}\(text)".utf16.flatMap {
        isBigEndian ? [UInt8($0 >> 8), UInt8($0 & 255)] : [UInt8($0 & 255), UInt8($0 >> 8)]
      }
      for bytes in [units, try gzip(units)] {
        #expect(try read(bytes).urls == ["https://a.com/%C3%A9%F0%9F%98%80.jpg"], "\(text)")
      }
      #expect(try readByteByByte(units).map(\.url) == ["https://a.com/%C3%A9%F0%9F%98%80.jpg"], "\(text)")
    }
  }

  // MARK: Sites

  @Test(
    arguments: ["text/html", "text/plain; charset=utf-8", "application/octet-stream"],
    [
      "<?xml version=\"1.0\"?><urlset>URL</urlset>", "\n\n \u{feff}\n<?xml version=\"1.0\"?>\n<urlset>URL</urlset>",
      "\u{feff}\u{feff}<?xml version=\"1.0\"?><urlset>URL</urlset>", "<!-- plugin --><urlset>URL</urlset>",
      "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">URL</urlset></urlset>",
      "<?xml version=\"1.0\"?><response><data xmlns=\"x\"><s:urlset xmlns:s=\"y\">URL</s:urlset></data></response>",
      "<urlset><page><group>URL</group></page></urlset>",
    ]
  )
  func `a sitemap is recognised whatever its type, and what surrounds it`(type: String, text: String) throws {
    let isPrefixed = text.contains("s:urlset")
    let entry = isPrefixed ? "<s:url><s:loc>https://a.com/1.jpg</s:loc></s:url>" : "<url><loc>https://a.com/1.jpg</loc></url>"
    let body = Array(text.replacing("URL", with: entry).utf8)
    for bytes in [body, try gzip(body)] {
      let fetcher = FakeFetcher([
        "https://a.com/map": bytes == body ? .typed(type, String(decoding: body, as: UTF8.self)) : .bytes(bytes)
      ])
      var manifest = URLList(.url(try BaseURL("https://a.com/map")), name: "map")
      manifest.isOfAnyKind = true
      #expect(try readAll([manifest], fetcher: fetcher).urls == ["https://a.com/1.jpg"])
    }
  }

  @Test func `the sitemaps of a robots.txt are read, and one without any is an error`() throws {
    func urlset(_ name: String) -> String { "<urlset><url><loc>https://a.com/\(name).jpg</loc></url></urlset>" }
    let text =
      "\u{feff}# robots\r\nUser-agent: *\r\nDisallow: /private # all\r\n\r\nSITEMAP : https://b.com/1.xml # first\r\nsitemap:/2.xml\rSitemap:https://a.com/3.xml.gz"
    let fetcher = FakeFetcher([
      "https://a.com/robots.txt": .typed("text/plain", text), "https://b.com/1.xml": .text(urlset("1")),
      "https://a.com/2.xml": .typed("text/html", urlset("2")), "https://a.com/3.xml.gz": .bytes(try gzip(urlset("3"))),
    ])
    let result = try readAll([URLList(.url(try BaseURL("https://a.com/robots.txt")), name: "robots.txt")], fetcher: fetcher)
    #expect(result.urls == (1...3).map { "https://a.com/\($0).jpg" } && result.failure == nil, "\(result)")
    #expect(fetcher.requestedAsOwn == ["https://a.com/robots.txt", "https://a.com/2.xml", "https://a.com/3.xml.gz"])
    for text in ["", "Crawl-delay: 3\n", "User-agent: *\nAllow: /\n"] {
      let fetcher = FakeFetcher(["https://a.com/robots.txt": .text(text)])
      let none = try readAll([URLList(.url(try BaseURL("https://a.com/robots.txt")), name: "robots.txt")], fetcher: fetcher)
      #expect(none.entries.isEmpty)
      expectGolden(none.failure?.message)
    }
  }

  @Test func `the pages of a folder have URLs below the base`() throws {
    for (path, image) in [
      ("index.html", "a.jpg"), ("blog/index.html", "b.jpg"), ("blog/50% #1.HTM", "c.jpg"), ("x/y.xhtml", "../d.jpg"),
      (".hidden/z.html", "no.jpg"), ("notes.txt", "no.jpg"),
    ] {
      directory.write("<img src=\"\(image)\"><img src=/logo.png><img src=https://i.com/1.jpg>", to: "dist/\(path)")
    }
    #expect(symlink("..", directory.file("dist/blog/loop")) == 0)
    var manifest = URLList(.file(directory.file("dist")), name: "dist/")
    manifest.baseURL = try BaseURL("https://a.com/docs")
    let result = try readAll([manifest])
    #expect(
      Set(result.urls) == [
        "https://a.com/docs/a.jpg", "https://a.com/logo.png", "https://i.com/1.jpg", "https://a.com/docs/blog/b.jpg",
        "https://a.com/docs/blog/c.jpg", "https://a.com/docs/d.jpg",
      ]
    )
    #expect(result.entries.count == 6 && result.entries.contains { $0.note?.pages == 4 })
    #expect(result.entries.first?.manifest == "dist/blog/50% #1.HTM")
    directory.write("x", to: "empty/a.txt")
    let empty = #expect(throws: ListError.self) { try readAll([URLList(.file(directory.file("empty")), name: "empty")]) }
    expectGolden(empty?.description)
  }

  @Test func `a local page without a base has only its absolute URLs`() throws {
    let page =
      "<link rel=stylesheet href=a.css><img src=https://i.com/1.jpg><img src=img/2.jpg><img src=//i.com/3.jpg><a href=/x>"
    for name in ["index.html", "page"] {
      let result = try read("<!doctype html>\(page)", name: name) {
        $0.baseURL = nil
        $0.crawl.depth = 1
      }
      #expect(result.urls == ["https://i.com/1.jpg", "", "https://i.com/3.jpg"])
      #expect(result.entries[1].written == "/img/2.jpg")
      expectGolden(result.problems[1])
      expectGolden(result.warnings.first, for: name)
    }
  }
}
