import Base
import Lists
import TestSupport
import Testing

@Suite struct TextTests {
  let directory = TemporaryDirectory()

  @Test func `comments, blank lines, byte order marks and line ends aren't entries`() throws {
    let text =
      "\u{feff}# heading\r\nhttps://a.com/1\r\n\r\n   \t\n  https://a.com/2 \t\r\n"
      + " \t# https://a.com/no\nhttps://a.com/3#frag\n\nhttps://a.com/4"
    let result = try readAll([directory.manifest(text)])
    #expect(result.urls == ["https://a.com/1", "https://a.com/2", "https://a.com/3", "https://a.com/4"])
    #expect(result.lines == [2, 5, 7, 9])
    #expect(result.entries[2].written == "https://a.com/3#frag")
    #expect(result.problems.allSatisfy { $0 == nil })
  }

  @Test func `an invalid line is an entry with its line number`() throws {
    let result = try readAll([directory.manifest("https://a.com/1\nftp://a.com/2\nhttps://a.com/3\rx\nhttps://a.com/4\n")])
    #expect(result.lines == [1, 2, 3, 4])
    #expect(result.problems.map { $0 != nil } == [false, true, true, false])
    #expect(result.entries[1].written == "ftp://a.com/2")
    #expect(result.entries[1].url.isEmpty)
  }

  @Test(arguments: [EntryOrder.fifo, .lifo], [70_000, 400_000, 1_000_000])
  func `a line that is too long is one invalid entry`(order: EntryOrder, length: Int) throws {
    let long = "https://a.com/" + String(repeating: "x", count: length)
    var result = try readAll([directory.manifest("https://a.com/1\n\(long)\nhttps://a.com/3\n\(long)")], order: order)
    if order == .lifo { result.entries.reverse() }
    #expect(result.lines == [1, 2, 3, 4])
    #expect(result.problems.map { $0 != nil } == [false, true, false, true])
    #expect(result.entries[1].written.count == 256)
  }

  @Test func `an empty file has no entries`() throws {
    #expect(try readAll([directory.manifest("")]).entries.isEmpty)
    #expect(try readAll([directory.manifest("\u{feff}")]).entries.isEmpty)
    #expect(try readAll([]).entries.isEmpty)
  }

  @Test func `lines that span blocks are read whole`() throws {
    let urls = (1...20_000).map { "https://images.example.com/\(String(repeating: "y", count: $0 % 97))/\($0).jpg" }
    let result = try readAll([directory.manifest(urls.joined(separator: "\n"))], maximum: 4096)
    #expect(result.urls == urls)
    #expect(result.lines == (1...20_000).map { UInt64($0) })
  }

  @Test func `relative lines are shown resolved`() throws {
    var manifest = directory.manifest("b c.png\n/d.png\nhttps://B.com\n../e.png\n")
    #expect(try readAll([manifest]).problems.map { $0 != nil } == [true, true, false, true])
    manifest.baseURL = try BaseURL("https://a.com/x/y/")
    let result = try readAll([manifest])
    #expect(result.urls == ["https://a.com/x/y/b%20c.png", "https://a.com/d.png", "https://b.com/", "https://a.com/x/e.png"])
    #expect(
      result.entries.map(\.written) == [
        "https://a.com/x/y/b%20c.png", "https://a.com/d.png", "https://B.com", "https://a.com/x/e.png",
      ]
    )
  }

  @Test func `an inline list has the line numbers of its job file`() throws {
    let list = URLList.Source.inline([
      .init(text: " https://a.com/1 ", line: 7), .init(text: "", line: 8), .init(text: "# no", line: 9),
    ])
    let result = try readAll([URLList(list, name: "job.yaml")], order: .lifo)
    #expect(result.lines == [9, 8, 7])
    #expect(result.urls.last == "https://a.com/1")
    #expect(result.problems.map { $0 != nil } == [true, true, false])
  }
}
