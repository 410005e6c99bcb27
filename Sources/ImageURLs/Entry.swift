public import ImagePrimitives

/// An entry as part of an ``EntryBatch``, in whose bytes its URLs lie: one row of a list.
///
/// It is numbers alone, so that batches cost no reference counts.
public struct BatchEntry: Sendable {
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
  /// Its position within its class: lower starts first.
  public var sequence: Int64
  @usableFromInline var requestOffset: UInt32
  @usableFromInline var requestLength: UInt32
  @usableFromInline var writtenOffset: UInt32
  @usableFromInline var writtenLength: UInt32

  /// - Parameters:
  ///   - requestRange: where its URL lies in normal form.
  ///   - writtenRange: where its URL lies as it was written; the same range, the default, if it was written so.
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
    writtenRange: Range<Int>? = nil
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

  /// Where the name and port of its host lie, empty if its URL is invalid.
  public var hostRange: Range<Int> {
    if case .invalid = state { return 0..<0 }
    let start = Int(requestOffset)
    return start + parts.hostAndPort.lowerBound..<start + parts.hostAndPort.upperBound
  }

  /// The same entry with a buffer of its own, which holds its request URL first, and nothing but its URLs.
  ///
  /// - Parameter bytes: the batch's.
  public func compact(in bytes: UnsafeRawBufferPointer, owner: (any AnyObject & Sendable)? = nil) -> Entry {
    var fields = self
    fields.requestOffset = 0
    // Most are written in normal form.
    if writtenOffset == requestOffset && writtenLength == requestLength {
      fields.writtenOffset = 0
      return Entry(fields, text: Array(bytes[requestRange]), owner: owner)
    }
    fields.writtenOffset = requestLength
    let text = [UInt8](unsafeUninitializedCapacity: Int(requestLength) + Int(writtenLength)) { buffer, count in
      let copy = UnsafeMutableRawBufferPointer(buffer)
      copy.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[requestRange]))
      UnsafeMutableRawBufferPointer(rebasing: copy[Int(requestLength)...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[writtenRange]))
      count = buffer.count
    }
    return Entry(fields, text: text, owner: owner)
  }
}

/// An image that is asked for, with its row in a list.
///
/// The reader makes it as a ``BatchEntry``. Whoever waits for the image carries it with a buffer of its own, and the result comes back
/// with it.
public struct Entry: Sendable {
  /// Its row, whose URLs lie in ``text``.
  @usableFromInline let fields: BatchEntry
  /// The bytes that hold its URLs: its own, or those of the batch that it is borrowed from.
  public let text: [UInt8]
  /// What the driver attached to it.
  public let owner: (any AnyObject & Sendable)?

  @inlinable
  public init(_ fields: BatchEntry, text: [UInt8], owner: (any AnyObject & Sendable)? = nil) {
    self.fields = fields
    self.text = text
    self.owner = owner
  }

  @inlinable public var source: UInt32 { fields.source }
  @inlinable public var variant: UInt16 { fields.variant }
  @inlinable public var priority: Priority { fields.priority }
  @inlinable public var state: BatchEntry.State { fields.state }
  @inlinable public var parts: URLParts { fields.parts }
  @inlinable public var line: UInt64 { fields.line }
  @inlinable public var sequence: Int64 { fields.sequence }
  public var hostRange: Range<Int> { fields.hostRange }
}

extension Entry {
  /// The URL that is requested, credentials included; of a compact entry that was written so, its own buffer.
  public var requestURL: [UInt8] { text.count == Int(fields.requestLength) ? text : Array(text[fields.requestRange]) }

  /// The URL as it was written, credentials included.
  public var writtenURL: [UInt8] { text.count == Int(fields.writtenLength) ? text : Array(text[fields.writtenRange]) }

  /// The URL as it was written, for people: with its credentials masked.
  public var shownURL: [UInt8] { withShownURL { Array($0) } }

  /// Calls `body` with the URL that is requested, credentials included.
  @inlinable
  @inline(__always)
  package func withRequestURL<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try text.withRawBytes { text throws(E) in try body(UnsafeRawBufferPointer(rebasing: text[fields.requestRange])) }
  }

  /// Calls `body` with the URL as it was written, credentials included.
  @inlinable
  @inline(__always)
  package func withWrittenURL<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try text.withRawBytes { text throws(E) in try body(UnsafeRawBufferPointer(rebasing: text[fields.writtenRange])) }
  }

  /// Calls `body` with the URL as it was written, its credentials masked.
  @inlinable
  @inline(__always)
  package func withShownURL<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withWrittenURL { url throws(E) in
      holdsCredentials(url) ? try maskingCredentials(url).withRawBytes(body) : try body(url)
    }
  }
}

/// Entries, their texts side by side in one array, whose storage is used again for the next batch.
public struct EntryBatch: Sendable {
  /// The texts that entries lie in.
  public var bytes: [UInt8] = []
  /// The entries, in the order in which they are to be fetched.
  public var entries: [BatchEntry] = []
  /// What is wrong with entries that are invalid: a sentence each.
  public var messages: [String] = []
  /// What drivers attached to entries, by their index; as long as the last that has any.
  private var owners: [(any AnyObject & Sendable)?] = []

  public init() {}

  /// A batch of one entry that has a text.
  public init(_ entry: Entry) {
    bytes = entry.text
    append(entry.fields, owner: entry.owner)
  }

  /// Adds an entry, to which the driver attaches `owner`.
  public mutating func append(_ entry: BatchEntry, owner: (any AnyObject & Sendable)?) {
    if let owner {
      owners += repeatElement(nil, count: entries.count - owners.count)
      owners.append(owner)
    }
    entries.append(entry)
  }

  /// What the driver attached to the entry at `index`.
  public func owner(_ index: Int) -> (any AnyObject & Sendable)? { index < owners.count ? owners[index] : nil }

  /// The entry at `index`, with its text; it borrows the batch's, which must not be changed while it is kept.
  public func entry(_ index: Int) -> Entry { Entry(entries[index], text: bytes, owner: owner(index)) }

  /// Empties it and keeps its storage.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
    messages.removeAll(keepingCapacity: true)
    owners.removeAll(keepingCapacity: true)
  }
}
