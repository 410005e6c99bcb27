import Base
import Lists
import TestSupport
import Testing

@Suite struct JSONLinesTests {
  let directory = TemporaryDirectory()

  private func read(_ text: String, columns: URLList.Columns = .init()) throws -> ReadResult {
    try directory.read(text, name: "list.jsonl") { $0.columns = columns }
  }

  @Test func `objects and strings are read`() throws {
    let result = try read(
      #"""
      {"url": "https://a.com/1"}

      "https://a.com/2"
      {"x": {"url": [1, -2.5e+3, "}", null, true, false, {}]}, "priority": "high", "url": "https://a.com/3" , "y": []}
      {"priority":null,"\u0075rl":"https:\/\/a.com\/\u00e4\ud83d\ude00\"\\"}
      """#
    )
    #expect(result.urls == ["https://a.com/3", "https://a.com/1", "https://a.com/2", "https://a.com/%C3%A4%F0%9F%98%80%22/"])
    #expect(result.lines == [4, 1, 3, 5])
    #expect(result.entries[0].priority == .high)
    #expect(result.entries[3].written == "https://a.com/ä😀\"\\")
  }

  @Test func `fields can be chosen`() throws {
    let result = try read(
      #"{"url": 1, "image": {"src": 2}, "src": "https://a.com/1", "rank": "low"}"#,
      columns: .init(url: "src", priority: "rank")
    )
    #expect(result.urls == ["https://a.com/1"])
    #expect(result.entries[0].priority == .low)
  }

  @Test func `rows without the field of the URLs are refused as a table is, with the names of their fields`() throws {
    let rows = #"{"id": 1, "image": {"url": "https://a.com/1", "alt": ""}}"#
    let texts = [
      ("list.jsonl", "\n\(rows)\n{\"size\": {\"w\": 1}}\n"), ("list.json", "[\(rows),\n\(rows)]"),
      ("list.json", "{\"products\": [\(rows)], \"count\": 1}"), ("list.jsonl", "{}\n{}\n"), ("list.json", rows),
    ]
    for (name, text) in texts {
      let error = #expect(throws: ListError.self) { try readAll([directory.manifest(text, name: name)]) }
      expectGolden(error?.description, for: text)
      guard text.contains("image") else { continue }
      var manifest = directory.manifest(text, name: name)
      manifest.columns.url = "image.url"
      #expect(try readAll([manifest]).entries.first { $0.problem == nil }?.url == "https://a.com/1", "\(text)")
    }
    // Some products have no image.
    let late = try read((1...9).map { "{\"id\": \($0)}\n" }.joined() + "\n{\"url\": \"https://a.com/1\"}\n{\"id\": 10}")
    #expect(late.problems.map { $0 == nil } == Array(repeating: false, count: 9) + [true, false])
    #expect(late.lines == Array(1...9) + [11, 12] && late.entries[0].written == #"{"id": 1}"#)
  }

  @Test(arguments: [
    #"{}"#, #"{"url": 1}"#, #"{"url": null}"#, #"{"url": ""}"#, #"{"url": "https://a.com/", "url": "https://b.com/"}"#, #"[]"#,
    #"1"#, #"null"#,
    #"{"url": "https://a.com/"} x"#, #"{"url": "https://a.com/",}"#, #"{"url": "https://a.com/""#, #"{"url" "https://a.com/"}"#,
    #"{url: "https://a.com/"}"#, #"{"url": "https://a.com/\x"}"#, #"{"url": "https://a.com/\ud800"}"#,
    #"{"url": "https://a.com/\udc00"}"#,
    #"{"url": "https://a.com/\u12g4"}"#, #"{"url": "https://a.com/"#, #"{"x": 01, "url": "https://a.com/"}"#,
    #"{"x": nul, "url": "https://a.com/"}"#,
    #"{"x": 1., "url": "https://a.com/"}"#, #"{"x": [1,], "url": "https://a.com/"}"#,
    #"{"url": "https://a.com/", "priority": 1}"#,
    #"{"url": "https://a.com/", "priority": "soon"}"#, "{\"url\": \"https://a.com/\t\"}",
    #""\"#,
  ])
  func `nesting is limited`(_ row: String) throws {
    let result = try read(row + "\n\"https://a.com/2\"\n")
    #expect(result.problems.map { $0 != nil } == [true, false])
  }

  @Test func `objects within objects are limited`() throws {
    let deep = { (depth: Int) in
      #"{"x": \#(String(repeating: "[", count: depth))\#(String(repeating: "]", count: depth)), "url": "https://a.com/"}"#
    }
    #expect(try read(deep(60)).problems == [nil])
    #expect(try read(deep(30_000)).problems.map { $0 != nil } == [true])
  }
}
