import ImagePrimitives

/// Reads what ``MessageEncoder`` writes, and believes nothing: whoever may write to Redis may have written it.
struct MessageDecoder {
  /// Room for a sentence on an entry, see `quotable`.
  static let maximumSentenceBytes = 1024

  private(set) var texts: [UInt8] = []
  private(set) var entries: [QueuedEntry] = []

  init(_ bytes: UnsafeRawBufferPointer) throws(MessageProblem) {
    guard bytes.count <= QueuedMessage.maximumBytes else { throw Self.problem("it has \(bytes.count) bytes") }
    guard let version = bytes.first else { throw Self.problem("it is empty") }
    guard version == MessageEncoder.version else {
      throw Self.problem("its version is \(version), not \(MessageEncoder.version)")
    }
    var offset = 1
    var previous = 0..<0
    while offset < bytes.count {
      guard entries.count < QueuedMessage.maximumEntries else { throw Self.problem("it has too many entries") }
      let entry = try readEntry(bytes, at: &offset, after: previous)
      entries.append(entry)
      previous = entry.url
    }
    guard !entries.isEmpty else { throw Self.problem("it has no entries") }
  }

  private mutating func readEntry(
    _ bytes: UnsafeRawBufferPointer,
    at offset: inout Int,
    after previous: Range<Int>
  ) throws(MessageProblem) -> QueuedEntry {
    let state = bytes[offset]
    offset += 1
    guard
      let manifest = Varint.read(bytes, at: &offset).flatMap(UInt32.init(exactly:)),
      let line = Varint.read(bytes, at: &offset),
      let shared = Varint.read(bytes, at: &offset), shared <= previous.count,
      let own = Varint.read(bytes, at: &offset), own <= bytes.count - offset,
      shared + own <= QueuedMessage.maximumURLBytes
    else { throw Self.problem("entry \(entries.count + 1) is cut off or out of bounds") }
    let start = texts.count
    guard start + Int(shared + own) <= QueuedMessage.maximumBytes else { throw Self.problem("its texts are too long") }
    // Not as a slice, which would copy all texts.
    for index in previous.prefix(Int(shared)) { texts.append(texts[index]) }
    texts.append(contentsOf: bytes[offset..<offset + Int(own)])
    offset += Int(own)
    let url = start..<texts.count
    let kept: QueuedEntry.State
    switch state {
    case 0: kept = .good
    case 1: kept = .filtered
    case 2: kept = .invalid(sentence: try readSentence(bytes, at: &offset))
    default: throw Self.problem("entry \(entries.count + 1) is in state \(state), which there is not")
    }
    return QueuedEntry(url: url, manifest: manifest, line: line, state: kept)
  }

  private mutating func readSentence(_ bytes: UnsafeRawBufferPointer, at offset: inout Int) throws(MessageProblem) -> Range<Int> {
    guard let length = Varint.read(bytes, at: &offset), length <= min(Self.maximumSentenceBytes, bytes.count - offset),
      let sentence = String(validating: bytes[offset..<offset + Int(length)], as: UTF8.self),
      sentence.quotable.utf8.elementsEqual(sentence.utf8)
    else { throw Self.problem("the sentence of entry \(entries.count + 1) is none") }
    let start = texts.count
    texts.append(contentsOf: bytes[offset..<offset + Int(length)])
    offset += Int(length)
    return start..<texts.count
  }

  private static func problem(_ what: String) -> MessageProblem {
    MessageProblem(description: "a message of the queue was not written by this version of prewarm: \(what)")
  }
}

extension Range<Int> {
  fileprivate func prefix(_ count: Int) -> Range<Int> { lowerBound..<lowerBound + count }
}
