import Base
import TestSupport
import Testing

@testable import Lists

/// Shows shards whether they have read the same lists.
@Suite struct ListFingerprintTests {
  private let directory = TemporaryDirectory()
  private static let lines = [
    "https://a.com/1.jpg", "no url", "https://a.com/2.jpg", "HTTPS://b.com:443/c/../3.jpg", "https://a.com/1.jpg",
  ]

  private func manifest(_ lines: [String], name: String = "list.txt") -> URLList {
    directory.manifest(lines.map { "\($0)\n" }.joined(), name: name)
  }

  private func fingerprint(
    _ manifests: [URLList],
    order: EntryOrder = .fifo,
    by rule: Shard.Rule = .url,
    index: Int = 1
  ) throws -> ListFingerprint {
    try #require(try readAll(manifests, order: order, shard: Shard(index: index, count: 3, by: rule)).fingerprint)
  }

  private func fingerprint(_ lines: [String], by rule: Shard.Rule = .url) throws -> ListFingerprint {
    try fingerprint([manifest(lines)], by: rule)
  }

  @Test func `the fingerprint depends on the entries, not on how they are read`() throws {
    let expected = try fingerprint(Self.lines)
    #expect(expected.entries == 5)
    let packed = directory.manifest(bytes: try gzip(Self.lines.map { "\($0)\n" }.joined()), name: "list.txt")
    let pipe = TestPipe(holding: Array(Self.lines.map { "\($0)\n" }.joined().utf8))
    let piped = URLList(.standardInput, name: "list.txt")
    #expect(try readAll([piped], standardInput: pipe.readEnd, shard: Shard(index: 2, count: 9, by: .url)).fingerprint == expected)
    for index in 1...3 {
      for order in [EntryOrder.fifo, .lifo] {
        for rule in Shard.Rule.allCases {
          #expect(try fingerprint([manifest(Self.lines)], order: order, by: rule, index: index) == expected)
          #expect(try fingerprint([packed], order: order, by: rule, index: index) == expected)
        }
      }
    }
  }

  /// Computed by a Python program from the definition in ``ListFingerprint``.
  @Test func `every machine computes the same fingerprint`() throws {
    #expect(try fingerprint(Self.lines).sum == 0x2897_91A2_23E5_4060)
    #expect(try fingerprint([]) == ListFingerprint())
  }

  @Test func `the order of files doesn't change the fingerprint`() throws {
    let (first, second) = (
      manifest(["https://a.com/1.jpg", "bad"], name: "1.txt"), manifest(["https://a.com/2.jpg"], name: "2.txt")
    )
    #expect(try fingerprint([first, second]) == fingerprint([second, first]))
  }

  @Test func `filtered entries change the fingerprint`() throws {
    var filtered = manifest(Self.lines)
    filtered.exclude = [try URLPattern("*/2.jpg")]
    #expect(try fingerprint([filtered]) == fingerprint(Self.lines))
  }

  @Test(arguments: Shard.Rule.allCases) func `different entries have different fingerprints`(rule: Shard.Rule) throws {
    let expected = try fingerprint(Self.lines, by: rule)
    for (place, line) in [
      // On the same host; another bad line; the bad line elsewhere; and one fewer, which occurs twice.
      (0, ["https://a.com/4.jpg"]), (0, ["no url"]), (0, ["no url", "https://a.com/1.jpg"]), (4, []),
    ] {
      var lines = Self.lines
      lines.replaceSubrange(place...place, with: line)
      #expect(try fingerprint(lines, by: rule) != expected, "\(lines)")
    }
    // Copies don't cancel each other out.
    let (one, two) = ("https://a.com/1.jpg", "https://a.com/2.jpg")
    #expect(try fingerprint([one, one], by: rule) != fingerprint([two, two], by: rule))
  }

  @Test(arguments: [EntryOrder.fifo, .lifo]) func `a list not read to its end has no fingerprint`(order: EntryOrder) throws {
    let text = (0..<5000).map { "https://a.com/\($0 * 7919).jpg\n" }.joined()
    let cut = directory.manifest(bytes: try gzip(text).dropLast(9000), name: "list.txt.gz")
    let result = try readAll([cut], order: order, shard: Shard(index: 1, count: 2, by: .url))
    #expect(result.failure != nil && !result.entries.isEmpty && result.fingerprint == nil)

    let shard = Shard(index: 1, count: 2, by: .url)
    let list = directory.manifest(text)
    let reader = try ListReader([list], order: .fifo, spoolDirectory: directory.path, shard: shard)
    var batch = EntryBatch()
    _ = try reader.next(&batch, maximum: 10)
    #expect(reader.listFingerprint == nil)
    while try reader.next(&batch, maximum: 1000) {}
    #expect(reader.listFingerprint?.entries == 5000)
  }
}
