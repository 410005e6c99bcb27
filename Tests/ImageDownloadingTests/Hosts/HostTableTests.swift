import Testing

@testable import ImageDownloading

/// The numbers of hosts.
struct HostTableTests {
  private func origin(_ number: Int) -> URLOrigin { URLOrigin(Array("http://host\(number).example/a".utf8))! }

  @Test func `a host keeps its number while used or kept, and a forgotten host's number is reused`() {
    var table = HostTable()
    let first = table.retain(origin(1))
    #expect(table.retain(origin(1)) == first)
    #expect(table.release(first) == false)
    #expect(table.release(first) == true)
    #expect(table.keep(first) == nil)
    #expect(table.retain(origin(1)) == first)
    #expect(table.release(first) == true)
    table.forget(first)
    #expect(table.retain(origin(2)) == first)
    #expect(table.origin(first) == origin(2))
  }

  @Test func `above the limit the oldest kept host is forgotten, unless it is in use`() {
    var table = HostTable(maximumKept: 3)
    var forgotten: [Int] = []
    for number in 0..<3 {
      _ = table.retain(origin(number))
      #expect(table.release(number) == true)
      #expect(table.keep(number) == nil)
    }
    _ = table.retain(origin(0))
    for number in 3..<6 {
      let given = table.retain(origin(number))
      #expect(table.release(given) == true)
      if let oldest = table.keep(given) {
        forgotten.append(oldest)
        table.forget(oldest)
      }
    }
    #expect(forgotten == [1, 2])
    #expect(table.origin(0) == origin(0))
  }
}
