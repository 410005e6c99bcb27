import Manifests
import TestSupport
import Testing

@Suite struct GzipTests {
  let directory = TemporaryDirectory()

  private let urls = (1...5000).map { "https://images.example.com/\($0 &* 2_654_435_761 % 1_000_003)/\($0).jpg" }
  private var text: String { urls.joined(separator: "\n") + "\n" }

  @Test(arguments: [EntryOrder.fifo, .lifo]) func membersOneAfterAnotherAndPadding(order: EntryOrder) throws {
    let bytes = try gzip("https://a.com/1\nhttps://a.c") + gzip("") + gzip("om/2\n") + [UInt8](repeating: 0, count: 1000)
    let result = try readAll([directory.manifest(bytes: bytes, name: "list.txt.gz")], order: order)
    #expect(Set(result.urls) == ["https://a.com/1", "https://a.com/2"])
    #expect(result.lines == (order == .fifo ? [1, 2] : [2, 1]))
    #expect(result.failure == nil)
  }

  @Test func theBytesTellAndNotTheName() throws {
    #expect(try readAll([directory.manifest(bytes: gzip(text), name: "list.txt")]).urls == urls)
    #expect(try readAll([directory.manifest(bytes: Array(text.utf8), name: "plain.txt.gz")]).urls == urls)
    #expect(
      try readAll([directory.manifest(bytes: gzip("url,x\nhttps://a.com/1,2\n"), name: "list.csv.gz")]).urls == [
        "https://a.com/1"
      ]
    )
  }

  @Test(arguments: [EntryOrder.fifo, .lifo]) func aCutFileThrowsAfterWhatWasGood(order: EntryOrder) throws {
    let whole = try gzip(text)
    let cut = directory.manifest(bytes: Array(whole[..<(whole.count / 2)]), name: "list.gz")
    let result = try readAll([cut, directory.manifest("https://a.com/never\n", name: "second.txt")], order: order)
    let expected = order == .fifo ? result.urls : result.urls.reversed()
    #expect(result.entries.count > 1000)
    #expect(Array(urls.prefix(expected.count)) == expected)
    #expect(result.failure?.manifest == "list.gz")
    #expect(result.failure?.message.contains("cut off") == true)
  }

  @Test func damageIsTold() throws {
    var damaged = try gzip(text)
    damaged[damaged.count / 2] ^= 0xff
    #expect(try readAll([directory.manifest(bytes: damaged, name: "a.gz")]).failure?.message.contains("damaged") == true)
    let followed = try gzip(text) + Array("more".utf8)
    let result = try readAll([directory.manifest(bytes: followed, name: "b.gz")])
    #expect(result.urls == urls)
    #expect(result.failure?.message.contains("something else") == true)
  }

  @Test func everyCutIsTold() throws {
    let whole = try gzip("https://a.com/1\nhttps://a.com/2\n")
    for length in 2..<whole.count {
      #expect(try readAll([directory.manifest(bytes: Array(whole[..<length]), name: "list.gz")]).failure != nil)
    }
    #expect(try readAll([directory.manifest(bytes: whole, name: "list.gz")]).failure == nil)
  }

  @Test func aBombIsRefused() throws {
    let member = try gzip([UInt8](repeating: UInt8(ascii: "#"), count: 8 << 20))
    let bomb = Array(repeatElement(member, count: 10).joined())
    #expect(try readAll([directory.manifest(bytes: bomb, name: "list.gz")]).failure?.message.contains("500-fold") == true)
  }

  @Test func aTextThatShrinksToAHundredthIsNoBomb() throws {
    let rows = (0..<1000).map { "https://images.example.com/\($0).jpg\n" } + [String](repeating: "#" + String(repeating: " ", count: 500) + "\n", count: 200)
    let text = Array(rows.joined().utf8)
    let count = (80 << 20) / text.count
    let bytes = try gzip(Array(repeatElement(text, count: 4).joined()))
    // Members one after another, so that most of it need not be packed anew.
    let packed = Array(repeatElement(bytes, count: count / 4 + 1).joined())
    #expect(packed.count * 20 < text.count * count)
    var manifest = directory.manifest(bytes: packed, name: "list.gz")
    manifest.exclude = [try URLPattern("[1-9]*.jpg")]
    let reader = try ManifestReader([manifest], order: .fifo, spoolDirectory: directory.path)
    var batch = EntryBatch()
    while try reader.next(&batch, maximum: 65_536) { batch.removeAll() }
    #expect(reader.counts[0].read == (count / 4 + 1) * 4000)
  }

  @Test func aBombIsRefusedLongBeforeItsEnd() throws {
    // 10 GiB of nothing out of 10 MiB, from a pipe that would never end.
    let member = try gzip([UInt8](repeating: UInt8(ascii: " "), count: 8 << 20))
    let bomb = Array(repeatElement(member, count: 1280).joined())
    #expect(bomb.count < 12 << 20)
    let result = try readAll([directory.manifest(bytes: bomb, name: "list.gz")])
    #expect(result.entries.isEmpty && result.failure?.message.contains("500-fold") == true)
  }

  @Test func aSitemapIsBoundedInSize() throws {
    let comment = Array("<!-- \(String(repeating: "x", count: 1 << 20)) -->\n".utf8)
    let member = try gzip((0..<2000).map { "<!-- \($0) \($0 &* 2_654_435_761) -->\n" }.joined())
    let text = try gzip("<urlset><url><loc>https://a.com/1.jpg</loc></url>")
    let size = 2000 * 25
    let bytes = text + Array(repeatElement(member, count: (257 << 20) / size).joined())
    #expect(comment.count > 1 << 20)
    let result = try readAll([directory.manifest(bytes: bytes, name: "sitemap.xml.gz")])
    #expect(result.urls == ["https://a.com/1.jpg"])
    #expect(result.failure?.message.contains("256 MiB") == true)
  }
}
