public import ImagePrimitives

/// An image that is asked for, with the place it was asked for at: one row of a list.
///
/// The reader makes it, whoever waits for the image carries it, and the result comes back with it. In an ``EntryBatch`` its URLs lie in
/// the batch's bytes, side by side with those of others; ``compact(in:)`` gives it a buffer of its own, the only one that it has.
public struct Entry: Sendable {
  /// What became of a row.
  public enum State: Sendable, Hashable {
    /// To be fetched.
    case good
    /// Left out by `include` or `exclude`.
    case filtered
    /// Not a URL; the reason is the message at that index of the batch.
    case invalid(message: UInt32)
  }

  /// The index of the list that it is from; the driver's to choose.
  public var source: UInt32
  /// Which of a context's ways to ask: 0 is the plain one, and n the one at n - 1 of its variants.
  public var variant: UInt16
  /// Its own class, or its list's: the most urgent starts first.
  public var priority: Priority
  public var state: State
  /// Where the parts of the request URL lie in it; empty if it has none.
  public var parts: URLParts
  /// The line on which it begins, from 1; 0 if it has none.
  public var line: UInt64
  /// The place within its class: lower starts first.
  public var sequence: Int64 = 0
  @usableFromInline var requestOffset: UInt32
  @usableFromInline var requestLength: UInt32
  @usableFromInline var writtenOffset: UInt32
  @usableFromInline var writtenLength: UInt32
  /// The bytes that hold its URLs: the batch's, or its own; empty while it is part of a batch.
  public var text: [UInt8]
  /// What the driver attached to it.
  public var owner: (any AnyObject & Sendable)?

  /// An entry whose URLs lie in `text`, or in the bytes of the batch that it becomes a part of.
  ///
  /// - Parameters:
  ///   - requestRange: where its URL lies in normal form.
  ///   - writtenRange: where its URL lies as it was written; the same place, the default, if it was written so.
  @inlinable
  public init(
    source: UInt32 = 0,
    line: UInt64 = 0,
    priority: Priority = .normal,
    state: State = .good,
    variant: UInt16 = 0,
    sequence: Int64 = 0,
    parts: URLParts,
    requestRange: Range<Int>,
    writtenRange: Range<Int>? = nil,
    text: [UInt8] = [],
    owner: (any AnyObject & Sendable)? = nil
  ) {
    self.source = source
    self.line = line
    self.priority = priority
    self.state = state
    self.variant = variant
    self.sequence = sequence
    self.parts = parts
    requestOffset = UInt32(requestRange.lowerBound)
    requestLength = UInt32(requestRange.count)
    writtenOffset = UInt32((writtenRange ?? requestRange).lowerBound)
    writtenLength = UInt32((writtenRange ?? requestRange).count)
    self.text = text
    self.owner = owner
  }

  /// Where the normalised URL lies: what is requested. Empty if it is invalid.
  @inlinable public var requestRange: Range<Int> {
    get { Int(requestOffset)..<Int(requestOffset) + Int(requestLength) }
    set { (requestOffset, requestLength) = (UInt32(newValue.lowerBound), UInt32(newValue.count)) }
  }

  /// Where the URL lies as it was written, a relative one resolved; credentials are not masked.
  @inlinable public var writtenRange: Range<Int> {
    get { Int(writtenOffset)..<Int(writtenOffset) + Int(writtenLength) }
    set { (writtenOffset, writtenLength) = (UInt32(newValue.lowerBound), UInt32(newValue.count)) }
  }

  /// Whether it was written in normal form.
  public var isNormal: Bool { writtenOffset == requestOffset && writtenLength == requestLength }

  /// The same entry over `text`, in which its URLs lie where they lay in its batch.
  @inlinable
  public func over(_ text: [UInt8]) -> Entry {
    var entry = self
    entry.text = text
    return entry
  }

  /// The same entry with a buffer of its own, which holds its request URL first, and nothing but its URLs.
  ///
  /// - Parameter bytes: where its URLs lie.
  public func compact(in bytes: UnsafeRawBufferPointer) -> Entry {
    var entry = self
    entry.requestRange = 0..<Int(requestLength)
    if isNormal {
      entry.writtenRange = entry.requestRange
      entry.text = Array(bytes[requestRange])
    } else {
      entry.writtenRange = Int(requestLength)..<Int(requestLength) + Int(writtenLength)
      entry.text = Array(unsafeUninitializedCapacity: Int(requestLength) + Int(writtenLength)) { buffer, count in
        let copy = UnsafeMutableRawBufferPointer(buffer)
        copy.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[requestRange]))
        UnsafeMutableRawBufferPointer(rebasing: copy[Int(requestLength)...])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[writtenRange]))
        count = buffer.count
      }
    }
    return entry
  }
}

extension Entry {
  /// The URL that is requested, credentials included; of a compact entry that was written so, its own buffer.
  public var requestURL: [UInt8] { text.count == Int(requestLength) ? text : Array(text[requestRange]) }

  /// The URL as it was written, credentials included.
  public var writtenURL: [UInt8] { text.count == Int(writtenLength) ? text : Array(text[writtenRange]) }

  /// The URL as it was written, for people: with its credentials masked.
  public var shownURL: [UInt8] { withShownURL { Array($0) } }

  /// Calls `body` with the URL that is requested, credentials included.
  @inlinable
  @inline(__always)
  package func withRequestURL<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try text.withRawBytes { text throws(E) in try body(UnsafeRawBufferPointer(rebasing: text[requestRange])) }
  }

  /// Calls `body` with the URL as it was written, credentials included.
  @inlinable
  @inline(__always)
  package func withWrittenURL<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try text.withRawBytes { text throws(E) in try body(UnsafeRawBufferPointer(rebasing: text[writtenRange])) }
  }

  /// Calls `body` with the URL as it was written, its credentials masked.
  @inlinable
  @inline(__always)
  package func withShownURL<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withWrittenURL { url throws(E) in
      holdsCredentials(url) ? try maskingCredentials(url).withRawBytes(body) : try body(url)
    }
  }

  /// Where the name and port of its host lie, empty if its URL is invalid.
  public var hostRange: Range<Int> {
    if case .invalid = state { return 0..<0 }
    let start = Int(requestOffset)
    return start + parts.hostAndPort.lowerBound..<start + parts.hostAndPort.upperBound
  }
}

/// Entries, their texts side by side in one array, whose storage is used again for the next batch.
public struct EntryBatch: Sendable {
  /// The texts that entries lie in.
  public var bytes: [UInt8] = []
  /// The entries, in the order in which they are to be fetched.
  public var entries: [Entry] = []
  /// What is wrong with entries that are invalid: a sentence each.
  public var messages: [String] = []

  public init() {}

  /// A batch of one entry that has a text.
  public init(_ entry: Entry) {
    bytes = entry.text
    entries = [entry]
  }

  /// The entry at `index`, with its text; it borrows the batch's, which must not be changed while it is kept.
  @inlinable
  public func entry(_ index: Int) -> Entry { entries[index].over(bytes) }

  /// Empties it and keeps its storage.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
    messages.removeAll(keepingCapacity: true)
  }
}
