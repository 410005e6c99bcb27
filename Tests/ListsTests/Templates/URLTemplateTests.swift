import Base
import TestSupport
import Testing

@testable import Lists

/// URLs that templates make from those of lists.
@Suite struct URLTemplateTests {
  let directory = TemporaryDirectory()

  private func template(_ text: String, _ variables: KeyValuePairs<String, [String]> = [:]) throws(InvalidTemplate) -> URLTemplate
  {
    try URLTemplate(text, variables: variables.map { URLTemplate.Variable(name: $0, values: $1) })
  }

  private func read(
    _ text: String,
    _ template: URLTemplate,
    name: String = "list.txt",
    order: EntryOrder = .fifo,
    shard: Shard? = nil,
    _ set: (inout URLList) throws -> Void = { _ in }
  ) throws -> ReadResult {
    var manifest = directory.manifest(text, name: name)
    manifest.template = template
    try set(&manifest)
    return try readAll([manifest], order: order, shard: shard)
  }

  @Test func `each entry becomes all combinations, the first variable changing last`() throws {
    let made = try template("{url}?w={w}&fm={fm}", ["w": ["320", "640"], "fm": ["avif", "webp"]])
    let result = try read("# images\nhttps://a.com/1.jpg\n\nhttps://a.com/2.jpg\n", made)
    let queries = ["w=320&fm=avif", "w=320&fm=webp", "w=640&fm=avif", "w=640&fm=webp"]
    #expect(result.urls == ["1", "2"].flatMap { name in queries.map { "https://a.com/\(name).jpg?\($0)" } })
    #expect(result.lines == [2, 2, 2, 2, 4, 4, 4, 4])
  }

  @Test(arguments: [
    ("https://c.com/{host}/{path}", "https://c.com/a.com:8443/b/%C3%A4.jpg"),
    ("https://c.com/{path}?{query}&w=1", "https://c.com/b/%C3%A4.jpg?v=2&w=1"),
    ("https://c.com/x?url={url-encoded}", "https://c.com/x?url=https%3A%2F%2Fa.com%3A8443%2Fb%2F%25C3%25A4.jpg%3Fv%3D2"),
    ("https://c.com/plain/{url}", "https://c.com/plain/https://a.com:8443/b/%C3%A4.jpg?v=2"),
    ("https://c.com/{url-base64}.webp", "https://c.com/aHR0cHM6Ly9hLmNvbTo4NDQzL2IvJUMzJUE0LmpwZz92PTI.webp"),
    ("{url}&w=1", "https://a.com:8443/b/%C3%A4.jpg?v=2&w=1"),
  ])
  func `placeholders are parts of the entry's URL in normal form`(text: String, url: String) throws {
    #expect(try read("HTTPS://A.com:8443/x/../b/ä.jpg?v=2#top\n", try template(text)).urls == [url])
  }

  @Test func `entries and results are resolved against the base`() throws {
    let result = try read("a b.jpg\n", try template("/cdn/{path}?w={w}", ["w": ["1", "2"]])) {
      $0.baseURL = try BaseURL("https://a.com/images/")
    }
    #expect(result.urls == ["https://a.com/cdn/images/a%20b.jpg?w=1", "https://a.com/cdn/images/a%20b.jpg?w=2"])
  }

  @Test func `an invalid entry stays one, and an invalid result is one for each combination`() throws {
    let two = try template("https://{host}x:{port}/", ["port": ["80", "99999"]])
    let result = try read("ftp://a.com/1.jpg\nhttps://a.com/\n", two)
    #expect(result.lines == [1, 2, 2])
    #expect(result.problems.map { $0 == nil } == [false, true, false])
    #expect(result.urls[1] == "https://a.comx:80/" && result.entries[2].written == "https://a.comx:99999/")
    expectGolden(result.problems[0], for: "entry")
    expectGolden(result.problems[2], for: "result")
  }

  @Test func `a user name and a password aren't encoded beyond recognition`() throws {
    let result = try read("https://me:secret@a.com/1.jpg\n", try template("https://c.com/{url-base64}"))
    #expect(result.urls == [""] && result.entries.first?.written == "https://me:secret@a.com/1.jpg")
    expectGolden(result.problems[0])
    let encoded = try read("https://me:secret@a.com/1.jpg\n", try template("https://c.com/{url-encoded}")).urls
    #expect(encoded.map { maskingCredentials($0) } == ["https://c.com/https%3A%2F%2F***%40a.com%2F1.jpg"])
  }

  @Test(arguments: [EntryOrder.fifo, .lifo]) func `filters and limits apply to the results`(order: EntryOrder) throws {
    let made = try template("https://c.com/{w}/{path}", ["w": ["1", "2"]])
    let result = try read("https://a.com/1.jpg\nhttps://a.com/2.jpg\nhttps://a.com/3.jpg\n", made, order: order) {
      $0.include = [try URLPattern("/2/*")]
      $0.limit = 2
    }
    let good = result.entries.filter { !$0.isFiltered }.map(\.url)
    #expect((order == .fifo ? good : good.reversed()) == ["https://c.com/2/1.jpg", "https://c.com/2/2.jpg"])
    #expect(result.entries.count == 4)
  }

  @Test(arguments: [EntryOrder.fifo, .lifo])
  func `rows keep their priority and identifier, and state what was asked of the image`(order: EntryOrder) throws {
    let made = try template("{url}?w={w}&h={height}&fm={fm}", ["w": ["320"], "height": ["200", "auto"], "fm": ["jpg", "auto"]])
    let text = "url,priority,id,width,sha256\nhttps://a.com/1.jpg,high,4711,1000,\nhttps://a.com/2.jpg,,,1000,\n"
    let result = try read(text, made, name: "list.csv", order: order)
    let entries = order == .fifo ? result.entries : Array(result.entries[..<4].reversed() + result.entries[4...].reversed())
    let expectations = [
      ImageExpectation(width: 320, height: 200, format: .jpeg), ImageExpectation(width: 320, height: 200),
      ImageExpectation(width: 320, format: .jpeg), ImageExpectation(width: 320),
    ]
    let notes = expectations.map { ReadNote(id: "4711", expectation: $0) } + expectations.map { ReadNote(expectation: $0) }
    #expect(entries.map(\.note) == notes)
    #expect(entries.map(\.priority) == Array(repeating: .high, count: 4) + Array(repeating: .normal, count: 4))
    // Without variables of these names, nothing is stated, not even what the list states about the original.
    let others = try read(text, try template("{url}?size={s}", ["s": ["1"]]), name: "list.csv")
    #expect(others.entries.map(\.note) == [ReadNote(id: "4711"), nil])
  }

  @Test func `images of a sitemap keep the time of their last change`() throws {
    let text = "<urlset><url><loc>https://a.com/1.jpg</loc><lastmod>2026-11-21T09:00:00Z</lastmod></url></urlset>"
    var manifest = directory.manifest(text, name: "sitemap.xml")
    manifest.usesLastModified = true
    manifest.template = try template("{url}?w={w}", ["w": ["320"]])
    let notes = try readAll([manifest]).entries.map(\.note)
    #expect(notes.map(\.?.expectation) == [ImageExpectation(width: 320)] && notes.allSatisfy { $0?.modified != nil })
  }

  @Test(arguments: [EntryOrder.fifo, .lifo], [0, 1])
  func `images of pages keep their origin and their number of pages`(order: EntryOrder, depth: Int) throws {
    var manifest = URLList(.url(try BaseURL("https://a.com/")), name: "page")
    manifest.format = .page
    manifest.crawl.depth = depth
    manifest.template = try template("https://c.com/{s}/{path}", ["s": ["1", "2"]])
    let fetcher = FakeFetcher([
      "https://a.com/": .text("<a href=/1></a><img src=/x.jpg width=9>"), "https://a.com/1": .text("<p><img src=/x.jpg>"),
    ])
    let result = try readAll([manifest], order: order, fetcher: fetcher)
    #expect(Set(result.urls) == ["https://c.com/1/x.jpg", "https://c.com/2/x.jpg"])
    let note = ReadNote(origin: PageOrigin(element: "img", attribute: "src"), pages: UInt64(depth + 1))
    #expect(result.entries.map(\.note) == [note, note])
  }

  @Test func `shards divide the results`() throws {
    let made = try template("{url}?w={w}", ["w": (1...9).map(String.init)])
    let text = (1...9).map { "https://a.com/\($0).jpg\n" }.joined()
    let parts = try (1...3).map { try read(text, made, shard: Shard(index: $0, count: 3, by: .url)).urls }
    #expect(parts.allSatisfy { !$0.isEmpty })
    #expect(try parts.flatMap { $0 }.sorted() == read(text, made).urls.sorted())
  }

  @Test func `entries of a log are resolved against its site`() throws {
    let line = #"1.2.3.4 - - [10/Oct/2020:13:55:36 +0000] "GET /1.jpg HTTP/1.1" 200 9"#
    let result = try read("\(line)\n", try template("{url}?w=1"), name: "access.log") {
      $0.format = .combined
      $0.baseURL = try BaseURL("https://a.com/")
    }
    #expect(result.urls == ["https://a.com/1.jpg?w=1"])
  }

  @Test(arguments: [
    ("{url", InvalidTemplate.unclosedBrace), ("{url{host}", .unclosedBrace), ("{url}}", .unopenedBrace),
    ("{x}", .unknownPlaceholder("x")), ("{}", .unknownPlaceholder("")), ("{URL}", .unknownPlaceholder("URL")),
    ("{url}", .unusedVariable("w")),
  ])
  func `invalid templates are rejected`(text: String, error: InvalidTemplate) {
    #expect(throws: error) { try template(text, ["w": ["1"]]) }
  }

  @Test func `invalid variables are rejected`() throws {
    #expect(throws: InvalidTemplate.reservedName("url")) { try template("{url}", ["url": ["1"]]) }
    #expect(throws: InvalidTemplate.noValues("w")) { try template("{w}", ["w": []]) }
    let values = (0..<32).map(String.init)
    #expect(throws: InvalidTemplate.tooManyCombinations(1024)) { try template("{a}{b}", ["a": values, "b": values]) }
    #expect(try template("{a}{b}", ["a": values, "b": Array(values.prefix(31))]).combinations == 992)
  }
}
