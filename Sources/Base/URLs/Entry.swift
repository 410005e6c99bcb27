/// An entry of an ``EntryBatch``: one row of a list. The batch's bytes hold its URLs.
///
/// It consists of numbers only, so that batches need no reference counting.
package struct BatchEntry: Sendable {
  /// The state of a row after reading.
  package enum State: Sendable, Hashable {
    case good
    /// Excluded by `include` or `exclude`.
    case filtered
    /// Not a URL; the reason is the batch's message at that index.
    case invalid(message: UInt32)
  }

  /// The index of its list, assigned by the driver.
  package var source: UInt32
  /// The request variant: 0 is the plain one, and n is the context's variant at n - 1.
  package var variant: UInt16
  /// Its own priority, or its list's; the most urgent starts first.
  package var priority: LoadPriority
  package var state: State
  /// The offsets of the request URL's parts; empty if there is no valid URL.
  package var parts: URLParts
  /// The line where it begins, counted from 1; 0 if it has none.
  package var line: UInt64
  /// Its position within its priority class: lower starts first.
  package var sequence: Int64
  @usableFromInline var requestOffset: UInt32
  @usableFromInline var requestLength: UInt32
  @usableFromInline var writtenOffset: UInt32
  @usableFromInline var writtenLength: UInt32

  /// Creates an entry whose URL is in normal form at `requestRange`, and as written at `writtenRange`, by default the same range.
  @inlinable
  package init(
    source: UInt32 = 0,
    line: UInt64 = 0,
    priority: LoadPriority = .normal,
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

  /// The range of the normalised URL, which is requested. Empty if it is invalid.
  @inlinable package var requestRange: Range<Int> {
    get { Int(requestOffset)..<Int(requestOffset) + Int(requestLength) }
    set { (requestOffset, requestLength) = (UInt32(newValue.lowerBound), UInt32(newValue.count)) }
  }

  /// The range of the URL as written, resolved if relative; credentials aren't masked.
  @inlinable package var writtenRange: Range<Int> {
    get { Int(writtenOffset)..<Int(writtenOffset) + Int(writtenLength) }
    set { (writtenOffset, writtenLength) = (UInt32(newValue.lowerBound), UInt32(newValue.count)) }
  }

  /// The range of the host's name and port; empty if the URL is invalid.
  package var hostRange: Range<Int> {
    if case .invalid = state { return 0..<0 }
    let start = Int(requestOffset)
    return start + parts.hostAndPort.lowerBound..<start + parts.hostAndPort.upperBound
  }

  /// Copies the entry with its URLs only, the request URL first, from the batch's bytes into a buffer of its own.
  package func compact(in bytes: UnsafeRawBufferPointer, owner: (any AnyObject & Sendable)? = nil) -> Entry {
    var fields = self
    fields.requestOffset = 0
    // Most URLs are written in normal form.
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

/// A requested image with its row in a list.
///
/// The reader creates it as a ``BatchEntry``. Code that waits for the image keeps it with its own buffer, and the result includes
/// it.
package struct Entry: Sendable {
  /// Its row, whose URLs are in ``text``.
  @usableFromInline let fields: BatchEntry
  /// The bytes that hold its URLs: its own, or those of the batch it was created from.
  package let text: [UInt8]
  /// An object that the driver attached.
  package let owner: (any AnyObject & Sendable)?

  @inlinable
  package init(_ fields: BatchEntry, text: [UInt8], owner: (any AnyObject & Sendable)? = nil) {
    self.fields = fields
    self.text = text
    self.owner = owner
  }

  @inlinable package var source: UInt32 { fields.source }
  @inlinable package var variant: UInt16 { fields.variant }
  @inlinable package var priority: LoadPriority { fields.priority }
  @inlinable package var state: BatchEntry.State { fields.state }
  @inlinable package var parts: URLParts { fields.parts }
  @inlinable package var line: UInt64 { fields.line }
  @inlinable package var sequence: Int64 { fields.sequence }
  package var hostRange: Range<Int> { fields.hostRange }
}

extension Entry {
  /// The requested URL, including credentials; the entry's own buffer if it is compact and was written in normal form.
  package var requestURL: [UInt8] { text.count == Int(fields.requestLength) ? text : Array(text[fields.requestRange]) }

  /// The URL as written, including credentials.
  package var writtenURL: [UInt8] { text.count == Int(fields.writtenLength) ? text : Array(text[fields.writtenRange]) }

  /// The URL as written, with credentials masked, for display.
  package var shownURL: [UInt8] { withShownURL { Array($0) } }

  /// Calls `body` with the requested URL, including credentials.
  @inlinable
  @inline(__always)
  package func withRequestURL<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try text.withRawBytes { text throws(E) in try body(UnsafeRawBufferPointer(rebasing: text[fields.requestRange])) }
  }

  /// Calls `body` with the URL as written, including credentials.
  @inlinable
  @inline(__always)
  package func withWrittenURL<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try text.withRawBytes { text throws(E) in try body(UnsafeRawBufferPointer(rebasing: text[fields.writtenRange])) }
  }

  /// Calls `body` with the URL as written, with credentials masked.
  @inlinable
  @inline(__always)
  package func withShownURL<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withWrittenURL { url throws(E) in
      holdsCredentials(url) ? try maskingCredentials(url).withRawBytes(body) : try body(url)
    }
  }
}

/// Entries whose text is concatenated in one array; its storage is reused for the next batch.
package struct EntryBatch: Sendable {
  /// The text of all entries.
  package var bytes: [UInt8] = []
  /// The entries, in the order in which they will be fetched.
  package var entries: [BatchEntry] = []
  /// The error messages of invalid entries.
  package var messages: [String] = []
  /// The objects that drivers attached, by entry index; it ends with the last entry that has one.
  private var owners: [(any AnyObject & Sendable)?] = []

  package init() {}

  /// Creates a batch of one entry.
  package init(_ entry: Entry) {
    bytes = entry.text
    append(entry.fields, owner: entry.owner)
  }

  /// Adds an entry with the driver's `owner`.
  package mutating func append(_ entry: BatchEntry, owner: (any AnyObject & Sendable)?) {
    if let owner {
      owners += repeatElement(nil, count: entries.count - owners.count)
      owners.append(owner)
    }
    entries.append(entry)
  }

  /// Whether an entry may have an owner.
  package var hasOwners: Bool { !owners.isEmpty }

  /// The object that the driver attached to the entry at `index`.
  package func owner(_ index: Int) -> (any AnyObject & Sendable)? { index < owners.count ? owners[index] : nil }

  /// The entry at `index`, sharing the batch's bytes: copy-on-write makes a later change of the batch copy them.
  package func entry(_ index: Int) -> Entry { Entry(entries[index], text: bytes, owner: owner(index)) }

  /// Removes all entries but keeps the storage.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
    messages.removeAll(keepingCapacity: true)
    owners.removeAll(keepingCapacity: true)
  }
}
