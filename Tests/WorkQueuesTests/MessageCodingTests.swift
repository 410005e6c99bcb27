import ImagePrimitives
import TestSupport
import Testing

@testable import WorkQueues

@Suite struct MessageCodingTests {
  /// The message of these entries.
  static func encoded(_ entries: [(url: String, manifest: UInt32, line: UInt64, state: NewQueuedEntry.State)]) -> [UInt8] {
    var encoder = MessageEncoder()
    for entry in entries {
      Array(entry.url.utf8).withUnsafeBytes {
        encoder.append(NewQueuedEntry(url: $0, manifest: entry.manifest, line: entry.line, state: entry.state))
      }
    }
    return encoder.bytes
  }

  static func decoded(_ bytes: [UInt8]) throws(MessageError) -> MessageDecoder {
    try bytes.withRawBytes { bytes throws(MessageError) in try MessageDecoder(bytes) }
  }

  static let sample = encoded([
    ("http://h/images/1.jpg", 0, 1, .good), ("http://h/images/2.jpg", 3, .max, .filtered),
    ("", .max, 0, .invalid(sentence: "it is empty")), ("http://h/images/2.jpg", 0, 300, .good),
  ])

  @Test("entries survive a round trip") func entriesAreReadAsTheyWereWritten() throws {
    let message = try Self.decoded(Self.sample)
    #expect(
      message.entries.map { String(decoding: message.texts[$0.url], as: UTF8.self) }
        == ["http://h/images/1.jpg", "http://h/images/2.jpg", "", "http://h/images/2.jpg"]
    )
    #expect(message.entries.map(\.manifest) == [0, 3, .max, 0])
    #expect(message.entries.map(\.line) == [1, .max, 0, 300])
    #expect(message.entries[1].state == .filtered)
    guard case .invalid(let sentence) = message.entries[2].state else {
      Issue.record("it was invalid")
      return
    }
    #expect(String(decoding: message.texts[sentence], as: UTF8.self) == "it is empty")
  }

  @Test("neighbours share their prefix") func neighboursShareTheirBeginning() {
    let one = Self.encoded([("http://host/a/long/path/of/images/1.jpg", 0, 1, .good)])
    let two = Self.encoded([
      ("http://host/a/long/path/of/images/1.jpg", 0, 1, .good), ("http://host/a/long/path/of/images/2.jpg", 0, 2, .good),
    ])
    #expect(two.count - one.count < 12)
  }

  @Test("a truncated message fails or has fewer entries") func aMessageThatIsCutAnywhereBreaksOrHasFewerEntries() {
    for length in 0..<Self.sample.count {
      let cut = try? Self.decoded(Array(Self.sample.prefix(length)))
      #expect((cut?.entries.count ?? 0) < 4)
    }
  }

  @Test("invalid messages are rejected") func whatNoWriterWritesIsRefused() {
    let wrong: [[UInt8]] = [
      [], [1], [2, 0, 0, 0, 0, 0],
      [1, 3, 0, 0, 0, 0],  // an unknown state
      [1, 0, 0, 0, 1, 0],  // bytes shared with nothing
      [1, 0, 0, 0, 0, 9, 65],  // a length beyond the end
      [1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0, 0, 0],  // a manifest of more than 32 bits
      [1, 0, 0] + Array(repeating: 0xFF, count: 10) + [0, 0],  // a line of more than 64 bits
      [1, 2, 0, 0, 0, 0, 1, 0xFF],  // a sentence that isn't text
      [1, 2, 0, 0, 0, 0, 201, 1] + [UInt8](repeating: 65, count: 201),  // a sentence that a writer would have truncated
      [1] + Array(repeating: [0, 0, 0, 0, 0], count: 257).flatMap { $0 },
    ]
    for bytes in wrong { #expect(throws: MessageError.self) { try Self.decoded(bytes) } }
  }

  @Test("a small message cannot expand without limit") func aSmallMessageCannotUnfoldToAnyLength() {
    // The first URL has the maximum length, and the next ones share it.
    var bytes: [UInt8] = [1, 0, 0, 1, 0]
    Varint.append(65_536, to: &bytes)
    bytes += [UInt8](repeating: 65, count: 65_536)
    for _ in 0..<100 {
      bytes += [0, 0, 1]
      Varint.append(65_536, to: &bytes)
      bytes.append(0)
    }
    #expect(throws: MessageError.self) { try Self.decoded(bytes) }
  }

  @Test("garbage never crashes the reader") func garbageNeverCrashesTheReader() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<20_000 {
      var bytes = Self.sample
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if let message = try? Self.decoded(bytes) {
        #expect(message.entries.allSatisfy { $0.url.upperBound <= message.texts.count })
      }
    }
  }
}
