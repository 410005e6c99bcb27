import Base
import Lists
import TestSupport
import Testing

private let opening = """
  <?xml version="1.0" encoding="UTF-8"?>
  <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
    xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:v="http://www.google.com/schemas/sitemap-video/1.1">

  """

@Suite struct SitemapTests {
  let directory = TemporaryDirectory()

  private func urlset(_ entries: String) -> String { opening + entries + "</urlset>\n" }

  private func read(_ text: String, name: String = "sitemap.xml", set: (inout URLList) throws -> Void = { _ in }) throws
    -> ReadResult
  {
    try directory.read(text, name: name, set: set)
  }

  @Test func `images are read with their lines, and pages are ignored`() throws {
    let text = urlset(
      """
      <url>
        <loc>https://a.com/page</loc>
        <xhtml:link rel="alternate" hreflang="de" href="https://a.com/de"/>
        <image:image><image:loc>https://a.com/1.jpg</image:loc><image:license>https://a.com/licence.png</image:license></image:image>
        <v:video><v:thumbnail_loc>https://a.com/thumb.jpg</v:thumbnail_loc><v:loc>https://a.com/v.jpg</v:loc></v:video>
        <image:image>
          <image:loc>
            https://a.com/2?a=1&amp;b=2&#38;c=3
          </image:loc>
        </image:image>
      </url>
      <url><loc><![CDATA[https://a.com/3.WebP?x=<1>]]></loc></url>
      <!-- <url><loc>https://a.com/no.jpg</loc></url> -->
      <url><loc>https://a.com/other.html</loc></url>

      """
    )
    let result = try read(text)
    #expect(
      result.urls == [
        "https://a.com/1.jpg", "https://a.com/thumb.jpg", "https://a.com/2?a=1&b=2&c=3", "https://a.com/3.WebP?x=%3C1%3E",
      ]
    )
    #expect(result.lines == [7, 8, 10, 15])
    #expect(result.failure == nil)
    // The page.
    #expect(result.warnings.count == 1)
    #expect(try read(text) { $0.sitemapPages = .ignored }.warnings.isEmpty)
  }

  @Test func `any namespace prefix is accepted, even undeclared`() throws {
    let other = """
      <s:urlset xmlns:s="http://www.google.com/schemas/sitemap/0.84" xmlns:i="https://www.google.com/schemas/sitemap-image/1.1">
      <s:url><s:loc>https://a.com/1.png</s:loc><i:image><i:loc>https://a.com/2</i:loc></i:image></s:url></s:urlset>
      """
    #expect(try read(other).urls == ["https://a.com/1.png", "https://a.com/2"])
    let undeclared = "<urlset><url><image:image><image:loc>https://a.com/1</image:loc></image:image></url></urlset>"
    #expect(try read(undeclared).urls == ["https://a.com/1"])
    let video =
      "<video:video><video:thumbnail_loc>https://a.com/2</video:thumbnail_loc><video:player_loc>https://a.com/no.jpg"
      + "</video:player_loc></video:video>"
    for declaration in ["", " xmlns:video='http://www.google.com/schemas/sitemap-video/1.1'"] {
      #expect(try read("<urlset\(declaration)><url>\(video)</url></urlset>").urls == ["https://a.com/2"])
    }
    let renamed = video.replacing("video:", with: "v:")
    let declared = "<urlset xmlns:v='http://www.google.com/schemas/sitemap-video/1.1'><url>\(renamed)</url></urlset>"
    #expect(try read(declared).urls == ["https://a.com/2"])
    let wrong = undeclared.replacing("<urlset>", with: "<urlset xmlns:image='http://www.sitemaps.org/schemas/sitemap-image/1.1'>")
    #expect(try read(wrong).urls == ["https://a.com/1"])
  }

  @Test func `a sitemap is recognised by its beginning, not its name`() throws {
    let text = "\u{feff}\n<urlset><url><loc>https://a.com/1.jpg</loc></url></urlset>"
    #expect(try read(text, name: "list").urls == ["https://a.com/1.jpg"])
    #expect(try readAll([directory.manifest(bytes: try gzip(text), name: "list.gz")]).urls == ["https://a.com/1.jpg"])
    #expect(try readAll([directory.manifest(bytes: try gzip(text), name: "s.xml.gz")]).urls == ["https://a.com/1.jpg"])
    #expect(try read("https://a.com/<x\n", name: "list").urls == ["https://a.com/%3Cx"])
    let none = #expect(throws: ListError.self) { try read("https://a.com/1.jpg\n", name: "text.xml") }
    expectGolden(none?.message)
    let page = #expect(throws: ListError.self) { try read("<html></html>", name: "page.xml") }
    #expect(page?.message.contains("<html>") == true)
    let empty = #expect(throws: ListError.self) { try read("", name: "empty.xml") }
    #expect(empty?.message.contains("empty") == true)
  }

  @Test(arguments: ["UTF-16", "UTF-16LE", "ISO-8859-1"]) func `XML escapes are decoded`(encoding: String) throws {
    let text = """
      <?xml version="1.0" encoding="\(encoding == "UTF-16LE" ? "UTF-16" : encoding)"?>
      <urlset><url><loc>https://a.com/é.jpg</loc></url><url><loc>https://a.com/2.jpg</loc></url></urlset>
      """
    let bytes: [UInt8] =
      switch encoding {
      case "UTF-16": [0xfe, 0xff] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
      case "UTF-16LE": [0xff, 0xfe] + text.utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
      default: text.unicodeScalars.map { UInt8($0.value) }
      }
    for name in ["sitemap.xml", "list"] {
      let result = try readAll([directory.manifest(bytes: bytes, name: name)])
      #expect(result.urls == ["https://a.com/%C3%A9.jpg", "https://a.com/2.jpg"])
      #expect(result.lines == [2, 2])
    }
  }

  @Test(
    arguments: [
      ("windows-1252", [0x80], "%E2%82%AC"), ("utf8", [0xf0, 0x9f, 0x8e, 0x89], "%F0%9F%8E%89"),
      ("UTF8", [0xc3, 0xa9], "%C3%A9"),
      ("Shift_JIS", [0x93, 0xfa], "%E6%97%A5"), ("gb18030", [0x81, 0x30, 0x84, 0x36], "%C2%A5"),
    ] as [(String, [UInt8], String)]
  )
  func `other encodings are converted`(name: String, letter: [UInt8], escaped: String) throws {
    // Enough entries that characters cross the ends of parsed blocks.
    let entries = (1...700).map { Array("<url><loc>https://a.com/\($0)".utf8) + letter + Array(".jpg</loc></url>\n".utf8) }
    let bytes =
      Array("<?xml version='1.0' encoding = '\(name)' standalone='yes'?>\n<urlset>\n".utf8) + entries.joined()
      + Array("</urlset>".utf8)
    let result = try readAll([directory.manifest(bytes: bytes, name: "sitemap.xml")], maximum: 100)
    #expect(result.urls == (1...700).map { "https://a.com/\($0)\(escaped).jpg" })
    #expect(result.failure == nil && result.lines.last == 702)
  }

  @Test func `bytes invalid in the encoding end the reading`() throws {
    let good = "<?xml version=\"1.0\" encoding=\"Shift_JIS\"?><urlset>\n<url><loc>https://a.com/1.jpg</loc></url>\n"
    for end in [[0xff], [0x93]] as [[UInt8]] {
      let result = try readAll([directory.manifest(bytes: Array(good.utf8) + end, name: "sitemap.xml")])
      #expect(result.urls == ["https://a.com/1.jpg"])
      #expect(result.failure?.line == 3)
      expectGolden(result.failure?.message)
    }
    let unknown = #expect(throws: ListError.self) { try read("<?xml version='1.0' encoding='klingon'?><urlset/>") }
    expectGolden(unknown?.message)
  }

  @Test func `a byte order mark overrides the declaration`() throws {
    let text = "<?xml version='1.0' encoding='utf-8'?><urlset><url><loc>https://a.com/1.jpg</loc></url></urlset>"
    let bytes: [UInt8] = [0xff, 0xfe] + text.utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
    #expect(try readAll([directory.manifest(bytes: bytes, name: "sitemap.xml")]).urls == ["https://a.com/1.jpg"])
  }

  @Test(arguments: [EntryOrder.fifo, .lifo]) func `entries before a break are returned`(order: EntryOrder) throws {
    let good = (1...3000).map { "<url><loc>https://a.com/\($0).jpg</loc></url>\n" }.joined()
    for end in ["<url><loc>https://a.com/cut", "</url>", "<url><loc>https://a.com/&bad;.jpg</loc></url></urlset>"] {
      let manifest = directory.manifest(opening + good + end, name: "broken.xml")
      let result = try readAll([manifest], order: order, maximum: 500)
      #expect(result.urls.count == 3000)
      #expect(result.urls.first == "https://a.com/\(order == .fifo ? 1 : 3000).jpg")
      #expect(result.failure?.manifest == "broken.xml")
      #expect(result.failure?.line == 3004)
    }
  }

  @Test(arguments: [
    "<!DOCTYPE urlset [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>",
    "<!DOCTYPE urlset [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;\">]>",
    "<!DOCTYPE urlset [<!ENTITY % p SYSTEM \"http://127.0.0.1:9/x.dtd\"> %p;]>",
    "<!DOCTYPE urlset [<!NOTATION n SYSTEM \"n\"><!ENTITY u SYSTEM \"u\" NDATA n>]>",
  ])
  func `entities are rejected`(declaration: String) throws {
    let text = "<?xml version=\"1.0\"?>\n\(declaration)\n<urlset><url><loc>https://a.com/&x;.jpg</loc></url></urlset>"
    let error = #expect(throws: ListError.self) { try read(text) }
    #expect(error?.line == 2)
    #expect(error?.message.contains("entities") == true)
  }

  @Test func `declared attributes are rejected`() throws {
    let text = "<!DOCTYPE urlset [<!ATTLIST a x (y|z) \"y\">]>\n<urlset><a/><url><loc>https://a.com/1.jpg</loc></url></urlset>"
    let error = #expect(throws: ListError.self) { try read(text) }
    expectGolden(error?.message)
  }

  @Test func `long tags and many namespaces are rejected`() throws {
    let attributes = (0..<20_000).map { " a\($0)='1'" }.joined()
    expectGolden(try read(urlset("<url\(attributes)></url>")).failure?.message)
    let namespaces = (0..<300).map { " xmlns:n\($0)='u'" }.joined()
    expectGolden(try read(urlset("<url\(namespaces)></url>")).failure?.message)
    let comment = "<!-- \(attributes) -->"
    let result = try read(urlset(comment + "<url><loc>https://a.com/1.jpg</loc></url>"))
    #expect(result.urls == ["https://a.com/1.jpg"] && result.failure == nil)
  }

  @Test func `endless comments and names are rejected`() throws {
    let entry = "<url><loc>https://a.com/1.jpg</loc></url>"
    let space = String(repeating: " ", count: 4 << 20)
    #expect(try read(urlset(entry + "<!--\(space)-->" + entry)).urls.count == 2)
    let names = (0..<300).map { tag in "<a" + (0..<3000).map { " a\(tag * 3000 + $0)=''" }.joined() + "/>\n" }
    for end in ["<!--" + String(repeating: space, count: 5) + "-->", names.joined()] {
      let result = try read(urlset(entry + end + entry))
      // The memory of a name or a comment depends on the version of Expat; below the limit it is read completely.
      #expect(result.failure.map { $0.message.contains("takes more than 16 MiB") } ?? (result.urls.count == 2))
    }
  }

  @Test func `a harmless doctype is accepted`() throws {
    let text =
      "<!DOCTYPE urlset SYSTEM \"http://127.0.0.1:9/none.dtd\"><urlset><url><loc>https://a.com/1.jpg</loc></url></urlset>"
    #expect(try read(text).urls == ["https://a.com/1.jpg"])
  }

  @Test func `endless texts and nesting take no memory`() throws {
    let long = String(repeating: "x", count: 1 << 20)
    let result = try read(urlset("<url><loc>https://a.com/\(long).jpg</loc></url><url><loc>https://a.com/1.jpg</loc></url>"))
    #expect(result.entries.count == 1 && result.urls == ["https://a.com/1.jpg"])
    let image = try read(urlset("<url><image:image><image:loc>https://a.com/\(long)</image:loc></image:image></url>"))
    expectGolden(image.problems.compactMap(\.self).joined(separator: "\n"))
    let nested = try read(urlset("<url>" + String(repeating: "<a>", count: 1000)))
    #expect(nested.failure?.message.contains("nested") == true)
    let many = "<image:image><image:loc>https://a.com/1</image:loc></image:image>\n"
    let crowded = try read(urlset("<url>" + String(repeating: many, count: 10_001) + "</url>"))
    #expect(crowded.failure?.message.contains("10000 locations") == true)
  }

  @Test(arguments: [
    ("2026-11-21T09:00:00Z", true), ("2026-11-20T12:00:00.001Z", true), ("2026-11-20T12:00:00.000Z", false),
    ("2026-11-20T11:59Z", false), ("2026-11-20T12:00Z", true), ("2026-11-20T12:30:00+01:00", false),
    ("2026-11-20T11:30:00-01:00", true), ("2026-11-20", true), ("2026-11-19", false), ("2026-11", true), ("2026-10", false),
    ("2026", true), ("2025", false), ("2026-11-20T13:00:00", true), ("2026-11-20 11:00:00", false), (" 2024-02-29 ", false),
    ("2026-02-30", true), ("yesterday", true), ("", true), ("2026-13", true),
  ]) func `newer-than keeps only later entries`(lastModified: String, isTaken: Bool) throws {
    let text = urlset("<url><loc>https://a.com/1.jpg</loc><lastmod>\(lastModified)</lastmod></url>")
    // 2026-11-20T12:00:00Z
    let result = try read(text) { $0.newerThan = Timestamp(milliseconds: 1_795_176_000_000) }
    #expect(result.urls.isEmpty == !isTaken)
    #expect(try read(text).urls.count == 1)
    #expect(
      result.warnings.contains { $0.contains("unreadable") } == ["2026-02-30", "yesterday", "2026-13"].contains(lastModified)
    )
    let namesDates = result.warnings.contains { $0.contains("newer-than") || $0.contains("lastmod") }
    #expect(namesDates == (!isTaken || !result.warnings.isEmpty))
  }

  @Test func `sitemap priorities are used on request`() throws {
    let priorities = ["0.1", "1.0", "0.5", "0.2", "0.7", "0.9", "x", "0.4"]
    let entries = priorities.map { "<url><loc>https://a.com/\($0).jpg</loc><priority>\($0)</priority></url>" }
    let text = urlset(entries.joined() + "<url><loc>https://a.com/none.jpg</loc></url>")
    #expect(try read(text).entries.allSatisfy { $0.priority == .normal })
    let result = try read(text) { $0.usesSitemapPriority = true }
    let expected = ["1.0", "0.9", "0.7", "0.5", "x", "0.4", "none", "0.2", "0.1"]
    #expect(result.urls == expected.map { "https://a.com/\($0).jpg" })
    #expect(result.entries.map(\.priority) == [.veryHigh, .veryHigh, .high, .normal, .normal, .normal, .normal, .low, .veryLow])
  }

  @Test func `a sitemap without images is reported`() throws {
    let text = urlset("<url><loc>https://a.com/a</loc></url><url><loc>https://a.com/b</loc></url>")
    let result = try read(text) { $0.sitemapPages = .ignored }
    #expect(result.entries.isEmpty)
    #expect(result.warnings.count == 1)
    expectGolden(result.warnings[0])
    let included = try read(text) { $0.include = [try URLPattern("/b")] }
    #expect(included.entries.map(\.isFiltered) == [true, false])
  }

  @Test func `relative locations require a base URL`() throws {
    let text = urlset("<url><loc>/1.jpg</loc></url>")
    let base = try BaseURL("https://a.com/x/")
    #expect(try read(text).problems.first??.contains("base-url") == true)
    #expect(try read(text) { $0.baseURL = base }.urls == ["https://a.com/1.jpg"])
  }

  @Test func `fifty thousand entries of a sitemap and of a product feed are read in flat memory`() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let entry = { (number: Int) in
        "<url><loc>https://a.com/page/\(number)</loc><image:image><image:loc>https://images.example.com/catalogue/\(number)/large.jpg"
          + "</image:loc></image:image><lastmod>2026-11-21</lastmod></url>\n"
      }
      let item = { (number: Int) in
        "<item><title>Product \(number)</title><g:image_link>https://images.example.com/\(number)/1.jpg</g:image_link>"
          + "<g:additional_image_link>https://images.example.com/\(number)/2.jpg</g:additional_image_link><g:id>P\(number)</g:id></item>\n"
      }
      let channel = "<rss version=\"2.0\" xmlns:g=\"http://base.google.com/ns/1.0\"><channel>\n"
      let numbers = 0..<50_000
      for (text, count) in [
        (opening + numbers.map(entry).joined() + "</urlset>", 50_000),
        (channel + numbers.map(item).joined() + "</channel></rss>", 100_000),
      ] {
        let manifest = directory.manifest(text, name: "large.xml")
        let reader = try ListReader([manifest], order: .fifo, spoolDirectory: directory.path)
        var batch = EntryBatch()
        let hasEntries = try reader.next(&batch, maximum: 4096)
        precondition(hasEntries)
        let rest = try countEntries(of: reader, growth: 3000)
        precondition(batch.entries.count + rest == count)
      }
    }
  }
}
