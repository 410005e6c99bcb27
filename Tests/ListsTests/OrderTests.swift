import Base
import Glibc
import Lists
import TestSupport
import Testing

@Suite struct OrderTests {
  let directory = TemporaryDirectory()

  /// Rows of all five priorities, in no order.
  private func rows(_ host: String) -> [(url: String, priority: LoadPriority)] {
    (0..<500).map { ("https://\(host)/\($0)", LoadPriority.allCases[$0 * 7 % 5]) }
  }

  private func expected(_ hosts: [String], order: EntryOrder) -> [String] {
    let all = hosts.flatMap(rows)
    return LoadPriority.allCases.flatMap { priority in
      let ofClass = all.filter { $0.priority == priority }.map(\.url)
      return order == .fifo ? ofClass : ofClass.reversed()
    }
  }

  @Test(arguments: [EntryOrder.fifo, .lifo])
  func `the order applies to each priority, across manifests of every kind`(order: EntryOrder) throws {
    let csv = { host in "url,priority\n" + rows(host).map { "\"\($0.url)\",\($0.priority.name)\n" }.joined() }
    let json = rows("c").map { #"{"priority": "\#($0.priority.name)", "url": "\#($0.url)"}"# }.joined(separator: "\n")
    var input = URLList(.standardInput, name: "-")
    input.format = .csv
    let pipe = TestPipe(holding: Array(csv("b").utf8))
    let manifests = [
      directory.manifest(csv("a"), name: "a.csv"), input, directory.manifest(json, name: "c.jsonl"),
      directory.manifest(bytes: try gzip(csv("d")), name: "d.csv.gz"),
    ]
    let result = try readAll(manifests, order: order, standardInput: pipe.readEnd, maximum: 100)
    #expect(result.urls == expected(["a", "b", "c", "d"], order: order))
  }

  @Test func `LIFO is the exact reverse of FIFO`() throws {
    let inline = URLList(.inline((0..<50).map { .init(text: "https://c.com/\($0)", line: $0 + 1) }), name: "job.yaml")
    let manifests = [
      directory.manifest((0..<20_000).map { "https://a.com/\($0)\n\n" }.joined(), name: "a.txt"),
      directory.manifest(bytes: try gzip((0..<20_000).map { "https://b.com/\($0)\nbad\u{1}\n" }.joined()), name: "b.gz"), inline,
    ]
    let fifo = try readAll(manifests, maximum: 1000)
    let lifo = try readAll(manifests, order: .lifo, maximum: 1000)
    #expect(fifo.entries.count == 60_050)
    #expect(lifo.entries == fifo.entries.reversed())
  }

  @Test func `manifests are read from high to low priority`() throws {
    var manifests = [
      directory.manifest("https://a.com/1\nhttps://a.com/2\n", name: "a"), directory.manifest("https://b.com/1\n", name: "b"),
    ]
    manifests[1].priority = .veryHigh
    #expect(try readAll(manifests).urls == ["https://b.com/1", "https://a.com/1", "https://a.com/2"])
    #expect(try readAll(manifests, order: .lifo).urls == ["https://b.com/1", "https://a.com/2", "https://a.com/1"])
  }

  @Test func `a file may change once it has been read`() throws {
    let reader = try ListReader(
      [directory.manifest("https://a.com/1\nhttps://a.com/2\n")],
      order: .lifo,
      spoolDirectory: directory.path
    )
    var batch = EntryBatch()
    while batch.entries.isEmpty, reader.expectedEntries != 2 { _ = try reader.nextAvailable(&batch, maximum: 1) }
    directory.write("https://b.com/other\nhttps://b.com/other\n", to: "list.txt")
    while try reader.next(&batch, maximum: 1) {}
    #expect(batch.entries(of: reader).map(\.url) == ["https://a.com/2", "https://a.com/1"])
  }

  @Test func `a missing spool folder is reported`() throws {
    let reader = try ListReader([directory.manifest("https://a.com/1\n")], order: .lifo, spoolDirectory: directory.file("none"))
    var batch = EntryBatch()
    #expect(throws: ListError.self) { try reader.next(&batch, maximum: 1) }
  }

  @Test func `the spool leaves no files behind`() throws {
    let spool = TemporaryDirectory()
    let reader = try ListReader([directory.manifest("https://a.com/1\n")], order: .lifo, spoolDirectory: spool.path)
    var batch = EntryBatch()
    _ = try reader.next(&batch, maximum: 1)
    #expect(rmdir(spool.path) == 0)
  }

  @Test func `a million entries are reversed in flat memory`() async {
    await #expect(processExitsWith: .success) {
      #if DEBUG
      let count = 200_000
      #else
      let count = 1_000_000
      #endif
      let directory = TemporaryDirectory()
      let path = directory.file("large.txt")
      let file = fopen(path, "w")!
      for number in 0..<count { fputs("https://images.example.com/catalogue/\(number)/large.jpg\n", file) }
      fclose(file)
      let reader = try ListReader([URLList(.file(path), name: "large.txt")], order: .lifo, spoolDirectory: directory.path)
      var line = UInt64(count)
      let entries = try countEntries(of: reader, growth: 8000) { entry in
        precondition(entry.line == line && entry.state == .good)
        line -= 1
      }
      precondition(entries == count)
    }
  }
}
