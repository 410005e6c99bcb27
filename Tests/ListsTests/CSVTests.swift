import Base
import Lists
import TestSupport
import Testing

@Suite struct CSVTests {
  let directory = TemporaryDirectory()

  private func read(_ text: String, name: String = "list.csv", columns: URLList.Columns = .init()) throws -> ReadResult {
    try directory.read(text, name: name) { $0.columns = columns }
  }

  @Test func `fields may contain quotes, delimiters and newlines`() throws {
    let rows = [
      "title,url,note\r", "\"a, \"\"b\"\"\r", "c\",https://a.com/1,x\r", "27\" screen,\" https://a.com/2 \",\"\n\n\"",
      ",\"https://a.com/\"\"3\"\"\",\r", "\r", ",https://a.com/4,",
    ]
    let result = try read("\u{feff}" + rows.joined(separator: "\n"))
    #expect(result.urls == ["https://a.com/1", "https://a.com/2", "https://a.com/%223%22", "https://a.com/4"])
    #expect(result.lines == [2, 4, 7, 9])
    #expect(result.entries[2].written == "https://a.com/\"3\"")
  }

  @Test func `columns and priorities can be chosen`() throws {
    let result = try read(
      "rank,image,url\nlow,https://a.com/1,no\n very-high ,https://a.com/2,no\n,https://a.com/3,no\nurgent,https://a.com/4,no\n",
      columns: .init(url: "image", priority: "rank")
    )
    #expect(result.urls == ["https://a.com/2", "https://a.com/3", "", "https://a.com/1"])
    #expect(result.entries.map(\.priority) == [.veryHigh, .normal, .normal, .low])
    #expect(result.entries[2].problem?.contains("urgent") == true)
  }

  @Test func `broken rows are invalid entries, and reading continues`() throws {
    let result = try read(
      "url,x\nhttps://a.com/1\nhttps://a.com/a,b,1\n,1\n\"https://a.com/2\"x,1\n\"https://a.com/3,1\nhttps://a.com/4,1\n"
    )
    #expect(result.lines == [2, 3, 4, 5, 6, 7])
    #expect(result.problems.map { $0 != nil } == [true, true, true, true, true, false])
    #expect(result.urls.last == "https://a.com/4")
  }

  @Test(arguments: [100, 70_000, 400_000]) func `an unclosed quote costs one row`(fill: Int) throws {
    let rows = (0..<(fill / 20)).map { "https://a.com/\($0),z" }
    let result = try read("url,x\n\"https://a.com/bad,1\n" + rows.joined(separator: "\n"))
    #expect(result.problems.count { $0 != nil } == 1)
    #expect(result.entries.count == rows.count + 1)
    #expect(result.lines.last == UInt64(rows.count + 2))
  }

  @Test(arguments: [70_000, 400_000, 1_000_000]) func `a row that is too long is one invalid entry`(length: Int) throws {
    let result = try read("url,x\nhttps://a.com/1,\(String(repeating: "x", count: length))\nhttps://a.com/2,y\n")
    #expect(result.lines == [2, 3])
    #expect(result.problems.map { $0 != nil } == [true, false])
  }

  @Test(arguments: [
    ("", 1, "empty"), ("a,b\n1,2\n", 1, "'url'"), ("\r\nURL\nx\n", 2, "'url'"), ("url,url\n", 1, "more than once"),
    ("\"url\n", 1, "quote"),
  ])
  func `a file whose header lacks the column isn't read`(_ text: String, line: UInt64, word: String) throws {
    let error = #expect(throws: ListError.self) { try read(text) }
    #expect(error?.line == line)
    #expect(error?.message.contains(word) == true)
    #expect(error?.description.hasPrefix("list.csv:\(line): ") == true)
  }

  @Test func `records that span blocks are read whole`() throws {
    let rows = (1...20_000).map { "\"t\"\"\(String(repeating: "\n", count: $0 % 7))\",https://a.com/\($0)" }
    let result = try read("t,url\n" + rows.joined(separator: "\r\n"))
    #expect(result.urls == (1...20_000).map { "https://a.com/\($0)" })
    #expect(result.problems.allSatisfy { $0 == nil })
  }

  @Test func `a column that the job names must be there, and one with its usual name may be absent`() throws {
    var columns = URLList.Columns()
    columns.sha256 = "checksum"
    let error = #expect(throws: ListError.self) { try read("url,Checksum\nhttps://a.com/1,0\n", columns: columns) }
    expectGolden(error?.message)
    #expect(try read("url\nhttps://a.com/1\n").urls == ["https://a.com/1"])
  }

  @Test func `messages about rows show no credentials, and only the beginning of a long header`() throws {
    let secret = "https://user:secret@a.com/1.jpg"
    let error = #expect(throws: ListError.self) { try read("\(secret)," + String(repeating: "x,", count: 5000)) }
    #expect(error?.message.contains("https://***@a.com/1.jpg") == true && error!.message.count < 600)
    let rows = try read("url,priority,width\nhttps://a.com/1,\(secret),\nhttps://a.com/2,,\(secret)\n")
    #expect(rows.problems.count == 2 && rows.problems.allSatisfy { $0?.contains("secret") == false })
  }
}
