import ImagePrimitives
import TestSupport
import Testing

@testable import WorkQueues

@Suite struct EntryGathererTests {
  /// The messages of these entries, including the rest.
  private func messages(_ entries: [TestEntry], maximumEntries: Int = 1000) -> [EntryGatherer.Message] {
    var gatherer = EntryGatherer(maximumEntries: maximumEntries)
    var messages: [EntryGatherer.Message] = []
    for entry in entries {
      Array(entry.url.utf8).withUnsafeBytes {
        gatherer.add(
          NewQueuedEntry(url: $0, manifest: entry.manifest, line: entry.line),
          key: .init(priority: entry.priority, host: UInt64(entry.host.utf8.reduce(0) { $0 &* 31 &+ Int($1) }))
        )
      }
      while let message = gatherer.next() { messages.append(message) }
    }
    while let message = gatherer.takeOldest() { messages.append(message) }
    return messages
  }

  private func urls(_ message: EntryGatherer.Message) throws -> [String] {
    let decoder = try MessageCodingTests.decoded(message.bytes)
    return decoder.entries.map { String(decoding: decoder.texts[$0.url], as: UTF8.self) }
  }

  @Test("a message contains entries of one host and one priority") func aMessageHoldsEntriesOfOneHostAndOneClass() throws {
    let entries = (0..<600).map { index in
      TestEntry(url: "http://h\(index % 5)/\(index)", host: "h\(index % 5)", priority: index % 2 == 0 ? .high : .low)
    }
    let all = messages(entries)
    #expect(all.reduce(0) { $0 + $1.entryCount } == 600)
    for message in all {
      let urls = try urls(message)
      #expect(Set(urls.map { $0.prefix(9) }).count == 1)
      #expect(urls.allSatisfy { url in entries.contains { $0.url == url && $0.priority == message.priority } })
      #expect(urls.count == message.entryCount && urls.count <= 64)
    }
  }

  @Test("entries of one host keep their order") func entriesOfOneHostKeepTheirOrder() throws {
    let entries = TestEntry.many(1000, hosts: 3)
    let all = try messages(entries, maximumEntries: 100).flatMap { try urls($0) }
    for host in ["h0", "h1", "h2"] {
      #expect(all.filter { $0.contains("//\(host)/") } == entries.map(\.url).filter { $0.contains("//\(host)/") })
    }
  }

  @Test("the oldest message is sent if too many entries are gathered")
  func theMessageThatWasBegunFirstGoesOutWhereTooManyEntriesAreGathered() throws {
    var gatherer = EntryGatherer(maximumEntries: 3)
    var sent: [EntryGatherer.Message] = []
    for entry in TestEntry.many(6, hosts: 6) {
      Array(entry.url.utf8).withUnsafeBytes {
        gatherer.add(NewQueuedEntry(url: $0, manifest: 0, line: 1), key: .init(priority: .normal, host: entry.line))
      }
      while let message = gatherer.next() { sent.append(message) }
    }
    #expect(try sent.flatMap { try urls($0) } == ["http://h1/1.jpg", "http://h2/2.jpg", "http://h3/3.jpg"])
  }

  @Test("a message with long texts is sent early") func aMessageWithLongTextsGoesOutEarly() throws {
    let entries = (0..<10).map { TestEntry(url: "http://h/" + String(repeating: "\($0)", count: 60_000)) }
    #expect(messages(entries).map(\.entryCount) == [5, 5])
  }

  @Test("the same entries make the same messages") func theSameEntriesMakeTheSameMessages() {
    var random = SeededRandom(seed: 3)
    let entries = (0..<5000).map { index in
      let host = Int.random(in: 0..<400, using: &random)
      return TestEntry(url: "http://h\(host)/\(index)", host: "h\(host)", priority: LoadPriority.allCases[index % 5])
    }
    #expect(messages(entries, maximumEntries: 700) == messages(entries, maximumEntries: 700))
  }
}
