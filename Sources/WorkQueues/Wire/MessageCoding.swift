#if Queue
import ImagePrimitives

/// Encodes entries as one binary message.
///
/// A version byte; then for each entry a byte for its state, and as varints its manifest, its line, the length of the
/// prefix that its URL shares with the previous one, the length of the rest, and the rest; for an invalid entry also
/// the length of the sentence and the sentence. Neighbours in a manifest share at least half of their bytes, which
/// makes the queue that much smaller.
struct MessageEncoder {
  static let version: UInt8 = 1

  private(set) var bytes: [UInt8] = [version]
  private(set) var count = 0
  /// The total length of all texts without prefix sharing, which readers limit.
  private(set) var textBytes = 0
  /// The previous URL, with which the next one shares a prefix.
  private var previous: [UInt8] = []

  mutating func append(_ entry: NewQueuedEntry) {
    var sentence: String?
    switch entry.state {
    case .good: bytes.append(0)
    case .filtered: bytes.append(1)
    case .invalid(let text):
      bytes.append(2)
      sentence = text
    }
    Varint.append(UInt64(entry.manifest), to: &bytes)
    Varint.append(entry.line, to: &bytes)
    let shared = sharedLength(entry.url)
    Varint.append(UInt64(shared), to: &bytes)
    Varint.append(UInt64(entry.url.count - shared), to: &bytes)
    bytes.append(contentsOf: entry.url[shared...])
    if let sentence {
      let text = sentence.quotable.utf8
      Varint.append(UInt64(text.count), to: &bytes)
      bytes.append(contentsOf: text)
      textBytes += text.count
    }
    previous.removeAll(keepingCapacity: true)
    previous.append(contentsOf: entry.url)
    textBytes += entry.url.count
    count += 1
  }

  private func sharedLength(_ url: UnsafeRawBufferPointer) -> Int {
    previous.withUnsafeBytes { previous in
      let limit = min(previous.count, url.count)
      var length = 0
      while length < limit, previous[length] == url[length] { length += 1 }
      return length
    }
  }

  /// Starts the next message, in the same storage.
  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    bytes.append(Self.version)
    previous.removeAll(keepingCapacity: true)
    count = 0
    textBytes = 0
  }
}

/// Decodes messages of ``MessageEncoder``, and trusts nothing: anyone with access to Redis may have written them.
struct MessageDecoder {
  /// The maximum length of the sentence on an entry, see `quotable`.
  static let maximumSentenceBytes = 1024

  private(set) var texts: [UInt8] = []
  private(set) var entries: [QueuedEntry] = []

  init(_ bytes: UnsafeRawBufferPointer) throws(MessageError) {
    guard bytes.count <= QueuedMessage.maximumBytes else { throw Self.unreadable("it has \(bytes.count) bytes") }
    guard let version = bytes.first else { throw Self.unreadable("it is empty") }
    guard version == MessageEncoder.version else {
      throw Self.unreadable("its version is \(version), not \(MessageEncoder.version)")
    }
    var offset = 1
    var previous = 0..<0
    while offset < bytes.count {
      guard entries.count < QueuedMessage.maximumEntries else { throw Self.unreadable("it has too many entries") }
      let entry = try readEntry(bytes, at: &offset, after: previous)
      entries.append(entry)
      previous = entry.url
    }
    guard !entries.isEmpty else { throw Self.unreadable("it has no entries") }
  }

  private mutating func readEntry(
    _ bytes: UnsafeRawBufferPointer,
    at offset: inout Int,
    after previous: Range<Int>
  ) throws(MessageError) -> QueuedEntry {
    let state = bytes[offset]
    offset += 1
    guard
      let manifest = Varint.read(bytes, at: &offset).flatMap(UInt32.init(exactly:)),
      let line = Varint.read(bytes, at: &offset),
      let shared = Varint.read(bytes, at: &offset), shared <= previous.count,
      let own = Varint.read(bytes, at: &offset), own <= bytes.count - offset,
      shared + own <= QueuedMessage.maximumURLBytes
    else { throw Self.unreadable("entry \(entries.count + 1) is truncated or out of bounds") }
    let start = texts.count
    guard start + Int(shared + own) <= QueuedMessage.maximumBytes else { throw Self.unreadable("its texts are too long") }
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
    default: throw Self.unreadable("entry \(entries.count + 1) has the unknown state \(state)")
    }
    return QueuedEntry(url: url, manifest: manifest, line: line, state: kept)
  }

  private mutating func readSentence(_ bytes: UnsafeRawBufferPointer, at offset: inout Int) throws(MessageError) -> Range<Int> {
    guard let length = Varint.read(bytes, at: &offset), length <= min(Self.maximumSentenceBytes, bytes.count - offset),
      let sentence = String(validating: bytes[offset..<offset + Int(length)], as: UTF8.self),
      sentence.quotable.utf8.elementsEqual(sentence.utf8)
    else { throw Self.unreadable("the sentence of entry \(entries.count + 1) is invalid") }
    let start = texts.count
    texts.append(contentsOf: bytes[offset..<offset + Int(length)])
    offset += Int(length)
    return start..<texts.count
  }

  private static func unreadable(_ what: String) -> MessageError {
    MessageError(description: "a message of the queue wasn't written by this version of prewarm: \(what)")
  }
}

extension Range<Int> {
  fileprivate func prefix(_ count: Int) -> Range<Int> { lowerBound..<lowerBound + count }
}

/// Unsigned numbers in as few bytes as possible, seven bits each, the lowest first (LEB128).
enum Varint {
  static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Reads the number at `offset` and advances `offset`; nil if the bytes end early or the number exceeds 64 bits.
  static func read(_ bytes: UnsafeRawBufferPointer, at offset: inout Int) -> UInt64? {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while offset < bytes.count, shift < 64 {
      let byte = bytes[offset]
      offset += 1
      let bits = UInt64(byte & 0x7F)
      guard shift < 63 || bits < 2 else { return nil }
      number |= bits << shift
      if byte < 0x80 { return number }
      shift += 7
    }
    return nil
  }
}
#endif
