import Testing

@testable import Base

@Suite struct DuplicateIndexTests {
  private func body(_ number: Int) -> Checksum { Checksum(high: UInt64(number) << 32, low: UInt64(number)) }

  @discardableResult
  private func add(
    _ body: Checksum,
    _ url: String,
    host: UInt32 = 0,
    to sightings: inout DuplicateIndex
  ) -> DuplicateIndex.Sighting {
    Array(url.utf8).withUnsafeBytes { sightings.add(body, url: DuplicateIndex.hash($0), host: host, shown: $0) }
  }

  @Test func `bodies of one URL each aren't duplicates`() {
    var sightings = DuplicateIndex()
    for number in 0..<5000 {
      let sighting = add(body(number), "/\(number)", to: &sightings)
      #expect(sighting.urls == 1 && !sighting.isPlaceholder)
    }
    #expect(sightings.bodies == 0 && sightings.urls == 0 && sightings.isComplete)
  }

  @Test func `each URL of a body counts once`() {
    var sightings = DuplicateIndex()
    for url in ["/a", "/b", "/a", "/b", "/c", "/c"] { add(body(1), url, to: &sightings) }
    for url in ["/d", "/d"] { add(body(2), url, to: &sightings) }
    for url in ["/e", "/f"] { add(body(3), url, to: &sightings) }
    #expect(sightings.bodies == 2 && sightings.urls == 5)
  }

  @Test func `a body is a placeholder from a host's tenth URL on, and the first nine stay good`() throws {
    var sightings = DuplicateIndex()
    for number in 1...30 {
      let sighting = add(body(1), "/\(number)", to: &sightings)
      #expect(sighting.isPlaceholder == (number >= 10) && sighting.urls == number)
    }
    for number in 1...30 {
      let sighting = add(body(1), "/\(number)", to: &sightings)
      #expect(sighting.isPlaceholder == (number >= 10) && sighting.urls == 30)
    }
    let group = try #require(add(body(1), "/1", to: &sightings).group)
    #expect(sightings.urls(of: group) == 30 && sightings.firstURL(of: group) == "/1")
  }

  @Test func `placeholders are counted per host, and duplicates over all`() throws {
    var sightings = DuplicateIndex(threshold: 3)
    var groups: Set<UInt64> = []
    for number in 1...4 {
      for host in 0..<3 as Range<UInt32> {
        let sighting = add(body(1), "//\(host)/\(number)", host: host, to: &sightings)
        #expect(sighting.urls == number && sighting.isPlaceholder == (number >= 3))
        let group = try #require(sighting.group)
        groups.insert(group)
        #expect(sightings.firstURL(of: group) == "//\(host)/1")
      }
    }
    #expect(groups.count == 3 && sightings.bodies == 1 && sightings.urls == 12)
  }

  @Test func `growing keeps the recorded bodies`() throws {
    var sightings = DuplicateIndex()
    for number in 0..<20_000 { add(body(number), "/\(number)/1", to: &sightings) }
    for number in 0..<20_000 {
      let sighting = add(body(number), "/\(number)/2", to: &sightings)
      #expect(sighting.urls == 2)
    }
    #expect(sightings.bodies == 20_000 && sightings.urls == 40_000 && sightings.isComplete)
    let group = try #require(add(body(77), "/77/1", to: &sightings).group)
    #expect(sightings.firstURL(of: group) == "/77/1")
  }

  @Test func `a full index still counts known bodies and reports that others are missing`() {
    var sightings = DuplicateIndex(threshold: 3, maximumSlots: 64)
    for number in 0..<100 { add(body(number), "/\(number)", to: &sightings) }
    #expect(!sightings.isComplete && sightings.bodies == 0)
    // There is a slot for the first body, but none for the last.
    for number in [0, 99] { for url in ["a", "b"] { add(body(number), "/\(number)/\(url)", to: &sightings) } }
    #expect(sightings.bodies == 1 && sightings.urls == 3)
    #expect(add(body(99), "/99/c", to: &sightings).group == nil)
    // Many URLs of one body, more than there is room for, still count as one placeholder.
    for number in 0..<200 {
      let sighting = add(body(1), "/flood/\(number)", to: &sightings)
      #expect(sighting.isPlaceholder == (number >= 1))
    }
  }

  @Test func `a million different bodies take limited memory`() {
    var sightings = DuplicateIndex()
    let shown = [UInt8](repeating: UInt8(ascii: "u"), count: 90)
    shown.withUnsafeBytes { shown in
      for number in 0..<1_000_000 { _ = sightings.add(body(number), url: UInt64(number) << 20, host: 1, shown: shown) }
      for number in 0..<20_000 { _ = sightings.add(body(1), url: UInt64(number), host: 1, shown: shown) }
    }
    #expect(!sightings.isComplete && sightings.bodies >= 1)
    #expect(sightings.byteCount <= 41 << 20, "\(sightings.byteCount) bytes")
  }

  @Test func `without URLs nothing is kept`() throws {
    var sightings = DuplicateIndex(keepsURLs: false)
    let group = try #require(add(body(1), "/a", to: &sightings).group)
    #expect(sightings.firstURL(of: group) == nil)
    #expect(sightings.urls(of: group) == 1 && sightings.urls(of: 4711) == 0)
  }
}
