import Base
import Lists
import TestSupport
import Testing

/// What lists say about an entry besides its URL.
@Suite struct RowNoteTests {
  let directory = TemporaryDirectory()
  private let digest = String(repeating: "0123456789abcdef", count: 4)

  private func read(_ text: String, name: String, order: EntryOrder = .fifo, columns: URLList.Columns = .init()) throws
    -> ReadResult
  {
    try directory.read(text, name: name, order: order) { $0.columns = columns }
  }

  private var expected: ReadNote {
    let bytes = (0..<32).map { UInt8([0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef][$0 % 8]) }
    return ReadNote(id: "4711", expectation: ImageExpectation(sha256: bytes, width: 640, height: 480, bytes: 1234))
  }

  @Test(arguments: [EntryOrder.fifo, .lifo])
  func `columns state an identifier and what the image must be`(order: EntryOrder) throws {
    let text = """
      url,id,sha256,width,height,bytes
      https://a.com/1.jpg,4711,\(digest.uppercased()),640,480,1234
      https://a.com/2.jpg,,,,,
      """
    let result = try read(text, name: "list.csv", order: order)
    let notes = Dictionary(uniqueKeysWithValues: result.entries.map { ($0.url, $0.note) })
    #expect(notes == ["https://a.com/1.jpg": expected, "https://a.com/2.jpg": nil])
  }

  @Test(arguments: [EntryOrder.fifo, .lifo])
  func `fields of JSON Lines do the same, as strings or numbers`(order: EntryOrder) throws {
    let text = """
      {"url": "https://a.com/1.jpg", "id": 4711, "sha256": "\(digest)", "width": 640, "height": "480", "bytes": 1234}
      {"url": "https://a.com/2.jpg", "id": null, "width": null}
      """
    let result = try read(text, name: "list.jsonl", order: order)
    let notes = Dictionary(uniqueKeysWithValues: result.entries.map { ($0.url, $0.note) })
    #expect(notes == ["https://a.com/1.jpg": expected, "https://a.com/2.jpg": nil])
  }

  @Test func `columns may have other names`() throws {
    var columns = URLList.Columns(url: "image")
    (columns.id, columns.width) = ("sku", "w")
    let result = try read("image,sku,w,width\nhttps://a.com/1.jpg,a b,10,x\n", name: "list.csv", columns: columns)
    #expect(result.entries.map(\.note) == [ReadNote(id: "a b", expectation: ImageExpectation(width: 10))])
  }

  @Test(
    arguments: [EntryOrder.fifo, .lifo],
    [("width", "0"), ("height", "-1"), ("width", "99999999999"), ("bytes", "1e3"), ("sha256", "abc")]
  )
  func `a value that isn't one makes the row invalid, and its identifier stays`(
    order: EntryOrder,
    field: (name: String, value: String)
  ) throws {
    let result = try read("url,id,\(field.name)\nhttps://a.com/1.jpg,7,\(field.value)\n", name: "list.csv", order: order)
    let problem = try #require(result.entries.first?.problem)
    #expect(problem.contains("'\(field.name)'") && problem.contains("'\(field.value)'"))
    #expect(result.entries.first?.note?.id == "7")
    let object = try read("{\"url\": \"https://a.com/1.jpg\", \"width\": [1]}\n", name: "list.jsonl", order: order)
    #expect(object.entries.first?.problem?.contains("a string or a number") == true)
    let other = try read("{\"url\": \"https://a.com/1.jpg\", \"id\": {\"$oid\": 1}}\n", name: "list.jsonl", order: order)
    #expect(other.urls == ["https://a.com/1.jpg"] && other.entries.first?.note == nil)
  }
}

/// What pages say about their images.
@Suite struct PageNoteTests {
  private func read(_ pages: [String: String], depth: Int, order: EntryOrder = .fifo) throws -> ReadResult {
    var manifest = URLList(.url(try BaseURL("https://a.com/")), name: "https://a.com/")
    manifest.format = .page
    manifest.crawl.depth = depth
    let answers = pages.map { ("https://a.com/\($0)", FakeFetcher.Answer.text($1)) }
    return try readAll([manifest], order: order, fetcher: FakeFetcher(Dictionary(uniqueKeysWithValues: answers)))
  }

  private func pages(_ result: ReadResult) -> [String: UInt64] {
    Dictionary(uniqueKeysWithValues: result.entries.map { (String($0.url.dropFirst(14)), $0.note?.pages ?? 0) })
  }

  @Test func `an image has the element and attribute that name it first, and what all elements of the page say`() throws {
    let text =
      "<img src=1.jpg width=320 height=200 srcset='1.jpg 640w, 2.jpg 1280w' sizes=50vw><a style='background: url(3.png)'>"
    for order in [EntryOrder.fifo, .lifo] {
      let result = try read(["": text], depth: 0, order: order)
      let notes = Dictionary(uniqueKeysWithValues: result.entries.map { ($0.url, $0.note) })
      var source = ImageClaims(width: 320, height: 200)
      source.hasSizes = true
      let first = source
      source.sourceWidth = 640
      let image = ReadNote(origin: PageOrigin(element: "img", attribute: "src"), pages: 1, claims: [first, source])
      #expect(notes["https://a.com/1.jpg"] == image)
      let background = ReadNote(origin: PageOrigin(element: "style", attribute: "background"), pages: 1)
      #expect(notes["https://a.com/3.png"] == background)
    }
  }

  @Test func `a crawl counts the pages that use each image, by stylesheets, too`() throws {
    let style = "<link rel=stylesheet href=/a.css>"
    let result = try read(
      [
        "": "<a href=/1><a href=/2>\(style)<img src=/x.jpg><img src=/x.jpg>",
        "1": "<img src=/x.jpg><img src=/y.jpg><link rel=stylesheet href=/b.css>",
        "2": "\(style)<img src=/y.jpg>",
        "a.css": "@import 'b.css'; p { background: url(a.png) }",
        "b.css": "@import 'a.css'; p { background: url(b.png) }",
      ],
      depth: 1
    )
    // Page 1 uses b.css, which imports a.css.
    #expect(pages(result) == ["x.jpg": 2, "y.jpg": 2, "a.png": 3, "b.png": 3])
  }
}
