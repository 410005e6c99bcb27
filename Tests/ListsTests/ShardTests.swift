import Base
import TestSupport
import Testing

@testable import Lists

/// The assignment of entries to shards.
@Suite struct ShardTests {
  private func owner(_ text: String, of count: Int) -> [Int] {
    Array(text.utf8).withUnsafeBytes { bytes in
      (1...count).filter { Shard(index: $0, count: count, by: .url).owns(Shard.hash(bytes)) }
    }
  }

  /// Computed by a C program from the definition in ``Shard``.
  @Test(arguments: [
    ("https://img.example.com/hero.jpg", [1, 2, 2, 2, 2, 419, 16_854]),
    ("https://img.example.com/hero.jpg?w=400", [1, 1, 1, 1, 1, 748, 11_807]),
    ("http://a.example:8080/", [1, 1, 3, 3, 3, 566, 63_670]), ("img.example.com", [1, 2, 2, 2, 6, 978, 36_493]),
    ("a.example:8080", [1, 2, 2, 2, 2, 757, 757]), ("urls/hero.txt:17", [1, 1, 1, 1, 1, 526, 56_427]),
  ])
  func `every machine computes the same shards`(text: String, owners: [Int]) {
    for (count, expected) in zip([1, 2, 3, 5, 6, 1000], owners) { #expect(owner(text, of: count) == [expected]) }
    Array(text.utf8).withUnsafeBytes { bytes in
      #expect(Shard(index: owners[6], count: 65_536, by: .url).owns(Shard.hash(bytes)))
      #expect(!Shard(index: owners[6] % 65_536 + 1, count: 65_536, by: .url).owns(Shard.hash(bytes)))
    }
  }

  @Test func `one more shard takes its part, and nothing else moves`() {
    var counts = Array(repeating: 0, count: 7)
    for number in 0..<7000 {
      let url = "https://img.example.com/\(number).jpg"
      let (before, after) = (owner(url, of: 6)[0], owner(url, of: 7)[0])
      #expect(after == before || after == 7)
      counts[after - 1] += 1
    }
    // Five times the standard deviation of 7,000 draws of one in seven.
    for count in counts { #expect(abs(count - 1000) < 150) }
  }

  @Test func `sharding by host uses host and port`() throws {
    func owns(_ url: String, _ shard: Shard) throws -> Bool {
      let url = try BaseURL(url)
      return url.bytes.withUnsafeBytes { shard.owns(url: $0, parts: url.parts, hash: Shard.hash($0)) }
    }
    let shard = Shard(index: 2, count: 5, by: .host)
    for path in 0..<50 {
      #expect(try owns("https://img.example.com/\(path)", shard) && owns("http://a.example:8080/\(path)", shard))
    }
    #expect(
      try !owns("http://a.example:80/", shard) || !owns("http://a.example:8081/", shard) || !owns("http://b.example/", shard)
    )
  }

  @Test(arguments: Shard.Rule.allCases) func `a URL's shard is the one that owns it`(rule: Shard.Rule) throws {
    for number in 0..<200 {
      let url = try BaseURL("HTTP://h\(number % 40).Example:8080/a b/\(number).jpg#top")
      let owners = url.bytes.withUnsafeBytes { bytes in
        (1...7).filter { Shard(index: $0, count: 7, by: rule).owns(url: bytes, parts: url.parts, hash: Shard.hash(bytes)) }
      }
      #expect(owners == [Shard(index: 1 + number % 7, count: 7, by: rule).holder(of: url).index])
    }
  }

  @Test func `an invalid line is assigned by data that all machines share`() {
    func owners(_ name: String) -> [Int] {
      (1...1000).filter { Shard(index: $0, count: 1000, by: .url).owns(Shard.hash(line: 17, ofManifest: name)) }
    }
    #expect(owners("urls/hero.txt") == [526] && owners("/srv/hero.txt") == owners("/mnt/lists/hero.txt"))
  }

  @Test func `no shard number exceeds the count`() async {
    await #expect(processExitsWith: .failure) { _ = Shard(index: 6, count: 5, by: .url) }
    await #expect(processExitsWith: .failure) { _ = Shard(index: 0, count: 5, by: .url) }
    await #expect(processExitsWith: .failure) { _ = Shard(index: 1, count: 65_537, by: .url) }
  }
}
