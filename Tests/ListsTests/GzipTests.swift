import Base
import TestSupport
import Testing

@testable import Lists

@Suite struct GzipTests {
  let directory = TemporaryDirectory()

  private let urls = (1...5000).map { "https://images.example.com/\($0 &* 2_654_435_761 % 1_000_003)/\($0).jpg" }
  private var text: String { urls.joined(separator: "\n") + "\n" }

  @Test(arguments: [EntryOrder.fifo, .lifo]) func `concatenated members and padding are read`(order: EntryOrder) throws {
    let bytes = try gzip("https://a.com/1\nhttps://a.c") + gzip("") + gzip("om/2\n") + [UInt8](repeating: 0, count: 1000)
    let result = try readAll([directory.manifest(bytes: bytes, name: "list.txt.gz")], order: order)
    #expect(Set(result.urls) == ["https://a.com/1", "https://a.com/2"])
    #expect(result.lines == (order == .fifo ? [1, 2] : [2, 1]))
    #expect(result.failure == nil)
  }

  @Test func `the bytes decide about compression, not the name`() throws {
    #expect(try readAll([directory.manifest(bytes: gzip(text), name: "list.txt")]).urls == urls)
    #expect(try readAll([directory.manifest(bytes: Array(text.utf8), name: "plain.txt.gz")]).urls == urls)
    #expect(
      try readAll([directory.manifest(bytes: gzip("url,x\nhttps://a.com/1,2\n"), name: "list.csv.gz")]).urls == [
        "https://a.com/1"
      ]
    )
  }

  @Test(arguments: [EntryOrder.fifo, .lifo])
  func `a truncated file throws after its good part and all other files`(order: EntryOrder) throws {
    let whole = try gzip(text)
    let cut = directory.manifest(bytes: Array(whole[..<(whole.count / 2)]), name: "list.gz")
    let result = try readAll([cut, directory.manifest("https://a.com/last\n", name: "second.txt")], order: order)
    let expected = order == .fifo ? result.urls : result.urls.reversed()
    #expect(result.entries.count > 1000)
    #expect(Array(urls.prefix(expected.count - 1)) == expected.dropLast() && expected.last == "https://a.com/last")
    #expect(result.failure?.manifest == "list.gz")
    expectGolden(result.failure?.message)
  }

  @Test func `damage is reported`() throws {
    var damaged = try gzip(text)
    damaged[damaged.count / 2] ^= 0xff
    #expect(try readAll([directory.manifest(bytes: damaged, name: "a.gz")]).failure?.message.contains("corrupt") == true)
    let followed = try gzip(text) + Array("more".utf8)
    let result = try readAll([directory.manifest(bytes: followed, name: "b.gz")])
    #expect(result.urls == urls)
    expectGolden(result.failure?.message)
  }

  @Test func `every truncation is reported`() throws {
    let whole = try gzip("https://a.com/1\nhttps://a.com/2\n")
    for length in 2..<whole.count {
      #expect(try readAll([directory.manifest(bytes: Array(whole[..<length]), name: "list.gz")]).failure != nil)
    }
    #expect(try readAll([directory.manifest(bytes: whole, name: "list.gz")]).failure == nil)
  }

  @Test func `a decompression bomb is rejected long before its end`() throws {
    // 10 GiB out of 10 MiB.
    let member = try gzip([UInt8](repeating: UInt8(ascii: "#"), count: 8 << 20))
    let bomb = Array(repeatElement(member, count: 1280).joined())
    #expect(try readAll([directory.manifest(bytes: bomb, name: "list.gz")]).failure?.message.contains("500-fold") == true)
  }

  @Test func `a text that compresses to a hundredth isn't a bomb`() throws {
    var random = SeededRandom(seed: 11)
    let words = (0..<60).map { _ in String(random.next()) }.joined()
    let rows = "https://a.com/1.jpg\n#" + String(repeating: words, count: 50) + "\n"
    let member = try gzip(String(repeating: rows, count: 20))
    let ratio = 20 * rows.utf8.count / member.count
    #expect(ratio > 50 && ratio < 400)
    let count = (80 << 20) / (20 * rows.utf8.count)
    let result = try readAll(
      [directory.manifest(bytes: Array(repeatElement(member, count: count).joined()), name: "list.gz")],
      maximum: 4096
    )
    #expect(result.failure == nil)
    #expect(result.urls.count == 20 * count)
  }

  @Test func `a text's size is limited where required`() throws {
    let path = directory.write(try gzip(text), to: "list.gz")
    let size = UInt64(text.utf8.count)
    for (maximum, isWhole) in [(size, true), (size - 1, false)] {
      let buffer = InputBuffer(InputStream(try InputDescriptor(path: path), maximumTextBytes: maximum))
      while buffer.fill() != .ended { buffer.consume(buffer.bytes.count) }
      #expect((buffer.failure == nil) == isWhole)
    }
  }
}
