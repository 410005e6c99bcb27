import Base
import Glibc
import Lists
import TestSupport
import Testing

@Suite struct SourceTests {
  let directory = TemporaryDirectory()

  @Test func `a pattern's files are sorted and named one by one`() throws {
    for name in ["urls/b.txt", "urls/a.txt", "urls/C.txt", "urls/x.csv", "urls/folder.txt/y.txt"] {
      directory.write("https://a.com/\(name)\n", to: name)
    }
    let manifest = URLList(.glob(directory.file("urls/*.txt")), name: "urls/*.txt")
    let result = try readAll([manifest])
    #expect(result.entries.map(\.manifest) == ["urls/C.txt", "urls/a.txt", "urls/b.txt"])
    #expect(result.urls == ["https://a.com/urls/C.txt", "https://a.com/urls/a.txt", "https://a.com/urls/b.txt"])
    #expect(try readAll([manifest], order: .lifo).urls == result.urls.reversed())
  }

  @Test func `a file that cannot be opened throws before any entry`() throws {
    let good = directory.manifest("https://a.com/1\n", name: "good.txt")
    directory.write("", to: "folder/empty.txt")
    for source in [
      URLList.Source.file(directory.file("missing.txt")), .file(directory.file("folder")), .glob(directory.file("*.none")),
      .glob(directory.file("fol*")),
    ] {
      let error = #expect(throws: ListError.self) { try readAll([good, URLList(source, name: "bad")]) }
      #expect(error?.manifest == "bad")
    }
    let input = URLList(.standardInput, name: "-")
    #expect(throws: ListError.self) { try readAll([input, input]) }
  }

  @Test func `a path determines its manifest kind`() {
    #expect(URLList.Source(path: "-") == .standardInput)
    #expect(URLList.Source(path: "a/*.txt") == .glob("a/*.txt"))
    #expect(URLList.Source(path: "a/b.txt") == .file("a/b.txt"))
  }

  @Test func `a pipe in FIFO order starts before its end`() throws {
    let pipe = TestPipe()
    let reader = try ListReader(
      [URLList(.standardInput, name: "-")],
      order: .fifo,
      spoolDirectory: directory.path,
      standardInput: pipe.readEnd
    )
    var batch = EntryBatch()
    #expect(try untilStill(reader, &batch) == .waiting)
    #expect(reader.waitDescriptor == pipe.readEnd)
    #expect(batch.entries.isEmpty && reader.expectedEntries == nil)
    pipe.write("https://a.com/1\nhttps://a.c")
    #expect(try untilStill(reader, &batch) == .waiting)
    #expect(batch.entries(of: reader).map(\.url) == ["https://a.com/1"])
    pipe.write("om/2\n")
    #expect(try reader.next(&batch, maximum: 10))
    #expect(batch.entries(of: reader).map(\.url) == ["https://a.com/1", "https://a.com/2"])
    pipe.write("https://a.com/3")
    pipe.finish()
    // Another test's new process may hold the other end for a moment, so wait for the end.
    while try reader.next(&batch, maximum: 10) {}
    #expect(batch.entries(of: reader).map(\.url) == ["https://a.com/1", "https://a.com/2", "https://a.com/3"])
    #expect(reader.expectedEntries == 3)
    #expect(try !reader.next(&batch, maximum: 10))
  }

  @Test(arguments: [EntryOrder.fifo, .lifo], [URLList.Format.text, .csv, .jsonl, .sitemap])
  func `a pipe read byte by byte gives the same entries`(order: EntryOrder, format: URLList.Format) throws {
    let text =
      switch format {
      case .csv: "\u{feff}x,url\r\n\"\n\"\"\",\"https://a.com/1.jpg\"\r\n,https://a.com/2.jpg\r\n"
      case .jsonl: "{\"url\": \"https://a.com/1.jpg\"}\n\"https://a.com/2.jpg\""
      case .sitemap: "<urlset><url><loc>https://a.com/1.jpg</loc></url><url><loc>https://a.com/2.jpg</loc></url></urlset>"
      default: "\u{feff}\r\nhttps://a.com/1.jpg\r\n  https://a.com/2.jpg"
      }
    let urls = ["https://a.com/1.jpg", "https://a.com/2.jpg"]
    for bytes in [Array(text.utf8), try gzip(text)] {
      let entries = try readByteByByte(bytes, order: order, format: format)
      #expect(entries.map(\.url) == (order == .fifo ? urls : urls.reversed()))
      #expect(entries.allSatisfy { $0.problem == nil })
    }
  }

  @Test func `standard input may be a partly read file`() throws {
    let path = directory.write("https://a.com/1\nhttps://a.com/2\nhttps://a.com/3\n", to: "in.txt")
    let file = open(path, O_RDONLY)
    defer { close(file) }
    lseek(file, 16, SEEK_SET)
    #expect(
      try readAll([URLList(.standardInput, name: "-")], order: .lifo, standardInput: file).urls == [
        "https://a.com/3", "https://a.com/2",
      ]
    )
  }

  @Test func `the expected count is estimated first and exact later`() throws {
    let text = (0..<50_000).map { "https://images.example.com/\(100_000 + $0).jpg\n" }.joined()
    let manifests = [directory.manifest(text, name: "a.txt"), directory.manifest(text, name: "b.txt")]
    for order in [EntryOrder.fifo, .lifo] {
      let reader = try ListReader(manifests, order: order, spoolDirectory: directory.path)
      var batch = EntryBatch()
      #expect(reader.expectedEntries == nil)
      #expect(try reader.next(&batch, maximum: 100))
      #expect(reader.expectedEntries == 100_000)
      while try reader.next(&batch, maximum: 4096) { batch.removeAll() }
      #expect(reader.expectedEntries == 100_000)
    }
  }
}
