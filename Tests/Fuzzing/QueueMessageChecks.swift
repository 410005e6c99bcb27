import ImagePrimitives

@testable import WorkQueues

/// Messages of a queue, which anyone with write access to Redis may have written: each is rejected, or encoding it again yields the
/// same.
struct QueueMessageChecks {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  func run() {
    do throws(MessageError) {
      check(try MessageDecoder(bytes))
    } catch {
      demand(!error.description.isEmpty, "an error without a message")
    }
  }

  private func check(_ message: MessageDecoder) {
    let texts = message.texts
    demand((1...QueuedMessage.maximumEntries).contains(message.entries.count), "\(message.entries.count) entries")
    // The last message follows the last URL that was counted.
    demand(texts.count <= QueuedMessage.maximumBytes + MessageDecoder.maximumSentenceBytes, "texts of \(texts.count) bytes")
    var end = 0
    for entry in message.entries {
      demand(entry.url.lowerBound == end && entry.url.count <= QueuedMessage.maximumURLBytes, "a URL at \(entry.url)")
      end = entry.url.upperBound
      guard case .invalid(let sentence) = entry.state else { continue }
      demand(sentence.lowerBound == end, "a sentence at \(sentence)")
      end = sentence.upperBound
    }
    demand(end == texts.count, "texts of \(texts.count) bytes, of which \(end) are used")
    checkWhole(message)
    checkSingles(message)
  }

  /// Encoded again, it must be equal and no longer.
  private func checkWhole(_ message: MessageDecoder) {
    var encoder = MessageEncoder()
    for entry in message.entries { encoder.append(entry, of: message.texts) }
    demand(encoder.bytes.count <= bytes.count, "\(bytes.count) bytes, but \(encoder.bytes.count) when encoded again")
    demand(encoder.textBytes == message.texts.count, "texts of \(message.texts.count) bytes, written as \(encoder.textBytes)")
    let again = Self.decoded(encoder.bytes)
    demand(again.texts == message.texts && again.entries == message.entries, "encoding it again changes the message")
  }

  /// Split into single entries, as after too many deliveries, it must have the same entries.
  private func checkSingles(_ message: MessageDecoder) {
    let whole = QueuedMessage(
      id: QueuedMessage.ID(stream: QueueStream.all[0], text: "1-0"),
      deliveries: 1,
      isGivenUp: false,
      error: nil,
      bytes: message.texts,
      entries: message.entries
    )
    for (entry, single) in zip(message.entries, whole.singles) {
      let alone = Self.decoded(single)
      demand(alone.entries.count == 1, "\(alone.entries.count) entries of a single one")
      let read = alone.entries[0]
      demand(read.manifest == entry.manifest && read.line == entry.line, "a single entry has another position")
      demand(alone.texts[read.url] == message.texts[entry.url], "a single entry has another URL")
      switch (read.state, entry.state) {
      case (.good, .good), (.filtered, .filtered): break
      case (.invalid(let one), .invalid(let other)):
        demand(alone.texts[one] == message.texts[other], "a single entry has another message")
      default: fatalError("a single entry has another state")
      }
    }
  }

  private static func decoded(_ bytes: [UInt8]) -> MessageDecoder {
    do {
      return try bytes.withRawBytes { bytes throws(MessageError) in try MessageDecoder(bytes) }
    } catch {
      fatalError("an encoded message can't be decoded: \(error)")
    }
  }
}

extension QueueMessageChecks {
  /// One entry; similar neighbours; one entry of each state; and the maximum number of entries.
  static var seeds: [[UInt8]] {
    let neighbours = (1...9).map { Entry("https://img.example.com/products/\($0)/front.jpg?width=640", line: UInt64($0)) }
    let states = [
      Entry("http://h/1.jpg", line: 1), Entry("http://h/2.jpg", manifest: 3, line: 300, .filtered),
      Entry("no URL", manifest: .max, line: .max, .invalid(sentence: "the URL has no scheme")), Entry("", line: 0),
    ]
    let many = (1...QueuedMessage.maximumEntries).map { Entry("http://h/\($0)", line: UInt64($0)) }
    return [[neighbours[0]], neighbours, states, many].map { entries in
      var encoder = MessageEncoder()
      for entry in entries {
        entry.url.withUnsafeBytes { url in
          encoder.append(NewQueuedEntry(url: url, manifest: entry.manifest, line: entry.line, state: entry.state))
        }
      }
      return encoder.bytes
    }
  }

  private struct Entry {
    let url: [UInt8]
    let manifest: UInt32
    let line: UInt64
    let state: NewQueuedEntry.State

    init(_ url: String, manifest: UInt32 = 0, line: UInt64, _ state: NewQueuedEntry.State = .good) {
      (self.url, self.manifest, self.line, self.state) = (Array(url.utf8), manifest, line, state)
    }
  }
}

extension MessageEncoder {
  /// Adds a decoded entry.
  fileprivate mutating func append(_ entry: QueuedEntry, of texts: [UInt8]) {
    let state: NewQueuedEntry.State =
      switch entry.state {
      case .good: .good
      case .filtered: .filtered
      case .invalid(let sentence): .invalid(sentence: String(decoding: texts[sentence], as: UTF8.self))
      }
    texts.withUnsafeBytes { texts in
      let url = UnsafeRawBufferPointer(rebasing: texts[entry.url])
      append(NewQueuedEntry(url: url, manifest: entry.manifest, line: entry.line, state: state))
    }
  }
}
