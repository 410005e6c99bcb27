import ImagePrimitives

/// Writes entries as one message of bytes.
///
/// A version byte; then for each entry a byte for its state, and as varints its manifest, its line, how many bytes its URL shares
/// with the beginning of the one before, how many follow, and these; where it is invalid, the length of the sentence and the
/// sentence. Neighbours in a manifest share half of their bytes and more, which makes the queue smaller by as much.
struct MessageEncoder {
  static let version: UInt8 = 1

  private(set) var bytes: [UInt8] = [version]
  private(set) var count = 0
  /// Bytes of all texts together, unshortened, which readers limit.
  private(set) var textBytes = 0
  /// The URL before, that the next one shares bytes with.
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

  /// Begins the next message, in the same storage.
  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    bytes.append(Self.version)
    previous.removeAll(keepingCapacity: true)
    count = 0
    textBytes = 0
  }
}
