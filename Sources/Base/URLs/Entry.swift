/// An entry of an ``EntryBatch``: one row of a list. The batch's bytes hold its URLs.
///
/// It consists of numbers only, so that batches need no reference counting.
public struct BatchEntry: Sendable {
  /// The state of a row after reading.
  public enum State: Sendable, Hashable {
    case good
    /// Excluded by `include` or `exclude`.
    case filtered
    /// Not a URL; the reason is the batch's message at that index.
    case invalid(message: UInt32)
  }

  /// The index of its list, assigned by the driver.
  public var source: UInt32
  /// The request variant: 0 is the plain one, and n is the context's variant at n - 1.
  public var variant: UInt16
  /// Its own priority, or its list's; the most urgent starts first.
  public var priority: LoadPriority
  public var state: State
  /// The offsets of the request URL's parts; empty if there is no valid URL.
  public var parts: URLParts
  /// The line where it begins, counted from 1; 0 if it has none.
  public var line: UInt64
  /// Its position within its priority class: lower starts first.
  public var sequence: Int64
  @usableFromInline var requestOffset: UInt32
  @usableFromInline var requestLength: UInt32
  @usableFromInline var writtenOffset: UInt32
  @usableFromInline var writtenLength: UInt32

  /// Creates an entry whose URL is in normal form at `requestRange`, and as written at `writtenRange`, by default the same range.
  @inlinable
  @inline(__always)
  public init(
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
  @inlinable public var requestRange: Range<Int> {
    get { Int(requestOffset)..<Int(requestOffset) + Int(requestLength) }
    set { (requestOffset, requestLength) = (UInt32(newValue.lowerBound), UInt32(newValue.count)) }
  }

  /// The range of the URL as written, resolved if relative; credentials aren't masked.
  @inlinable public var writtenRange: Range<Int> {
    get { Int(writtenOffset)..<Int(writtenOffset) + Int(writtenLength) }
    set { (writtenOffset, writtenLength) = (UInt32(newValue.lowerBound), UInt32(newValue.count)) }
  }

  /// The range of the host's name and port; empty if the URL is invalid.
  public var hostRange: Range<Int> {
    if case .invalid = state { return 0..<0 }
    let start = Int(requestOffset)
    return start + parts.hostAndPort.lowerBound..<start + parts.hostAndPort.upperBound
  }

  /// Copies the entry with its URLs only, the request URL first, from the batch's bytes into a buffer of its own.
  public func compact(in bytes: UnsafeRawBufferPointer, owner: (any AnyObject & Sendable)? = nil) -> Entry {
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
public struct Entry: Sendable {
  /// Its row, whose URLs are in ``text``.
  @usableFromInline let fields: BatchEntry
  /// The bytes that hold its URLs: its own, or those of the batch it was created from.
  public let text: [UInt8]
  /// An object that the driver attached.
  public let owner: (any AnyObject & Sendable)?

  @inlinable
  public init(_ fields: BatchEntry, text: [UInt8], owner: (any AnyObject & Sendable)? = nil) {
    self.fields = fields
    self.text = text
    self.owner = owner
  }

  @inlinable public var source: UInt32 { fields.source }
  @inlinable public var variant: UInt16 { fields.variant }
  @inlinable public var priority: LoadPriority { fields.priority }
  @inlinable public var state: BatchEntry.State { fields.state }
  @inlinable public var parts: URLParts { fields.parts }
  @inlinable public var line: UInt64 { fields.line }
  @inlinable public var sequence: Int64 { fields.sequence }
  public var hostRange: Range<Int> { fields.hostRange }
}

extension Entry {
  /// The requested URL, including credentials; the entry's own buffer if it is compact and was written in normal form.
  public var requestURL: [UInt8] { text.count == Int(fields.requestLength) ? text : Array(text[fields.requestRange]) }

  /// The URL as written, including credentials.
  public var writtenURL: [UInt8] { text.count == Int(fields.writtenLength) ? text : Array(text[fields.writtenRange]) }

  /// The URL as written, with credentials masked, for display.
  public var shownURL: [UInt8] { withShownURL { Array($0) } }

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
public struct EntryBatch: Sendable {
  /// The text of all entries.
  public var bytes: [UInt8] = []
  /// The entries, in the order in which they will be fetched.
  public var entries: [BatchEntry] = []
  /// The error messages of invalid entries.
  public var messages: [String] = []
  /// The objects that drivers attached, by entry index; it ends with the last entry that has one.
  private var owners: [(any AnyObject & Sendable)?] = []

  public init() {}

  /// Creates a batch of one entry.
  public init(_ entry: Entry) {
    bytes = entry.text
    append(entry.fields, owner: entry.owner)
  }

  /// Adds an entry with the driver's `owner`.
  public mutating func append(_ entry: BatchEntry, owner: (any AnyObject & Sendable)?) {
    if let owner {
      owners += repeatElement(nil, count: entries.count - owners.count)
      owners.append(owner)
    }
    entries.append(entry)
  }

  /// Adds an entry with copies of its URLs.
  package mutating func append(copying entry: Entry) {
    var fields = entry.fields
    let (request, written) = (fields.requestRange, fields.writtenRange)
    fields.requestRange = append(entry.text[request])
    fields.writtenRange = written == request ? fields.requestRange : append(entry.text[written])
    append(fields, owner: entry.owner)
  }

  private mutating func append(_ text: ArraySlice<UInt8>) -> Range<Int> {
    bytes += text
    return bytes.count - text.count..<bytes.count
  }

  /// Whether an entry may have an owner.
  package var hasOwners: Bool { !owners.isEmpty }

  /// The object that the driver attached to the entry at `index`.
  public func owner(_ index: Int) -> (any AnyObject & Sendable)? { index < owners.count ? owners[index] : nil }

  /// The entry at `index`, sharing the batch's bytes: copy-on-write makes a later change of the batch copy them.
  public func entry(_ index: Int) -> Entry { Entry(entries[index], text: bytes, owner: owner(index)) }

  /// Removes all entries but keeps the storage.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
    messages.removeAll(keepingCapacity: true)
    owners.removeAll(keepingCapacity: true)
  }
}

/// What a list says about an entry besides its URL; the ``Entry/owner`` of entries that have one.
package final class EntryNote: Sendable {
  /// The identifier of its row, such as that of a product.
  package let id: String?
  /// The part of a page that names it; nil in other lists.
  package let origin: PageOrigin?
  /// How many pages use it; 0 if unknown.
  package let pages: UInt64
  /// Nil if the list states none.
  package let expectation: ImageExpectation?
  /// What the page says about its size, which may differ from place to place.
  package let claims: [ImageClaims]
  /// When the image may have changed: a cached one that is older is due. Nil if its age decides alone.
  package let modified: Timestamp?

  public init(
    id: String? = nil,
    origin: PageOrigin? = nil,
    pages: UInt64 = 0,
    expectation: ImageExpectation? = nil,
    claims: [ImageClaims] = [],
    modified: Timestamp? = nil
  ) {
    self.id = id
    (self.origin, self.pages, self.expectation, self.claims, self.modified) = (origin, pages, expectation, claims, modified)
  }

  /// The same with a number of pages.
  package func used(by pages: UInt64) -> EntryNote {
    EntryNote(id: id, origin: origin, pages: pages, expectation: expectation, claims: claims, modified: modified)
  }
}

/// The part of a document that names a URL.
package struct PageOrigin: Sendable, Hashable {
  /// The name of the element, in lower case; `style` for all declarations.
  package var element: String
  /// The name of the attribute, relation, metadata property or CSS property, such as `srcset`, `icon`, `og:image` or `background`.
  package var attribute: String

  package init(element: String, attribute: String) { (self.element, self.attribute) = (element, attribute) }
}

extension EntryBatch {
  /// What its list says about the entry at `index`; nil if that is only its URL.
  package func note(_ index: Int) -> EntryNote? { hasOwners ? owner(index) as? EntryNote : nil }
}

extension Entry {
  /// What its list says about it; nil if that is only its URL.
  package var note: EntryNote? { owner as? EntryNote }
  /// Whether the SHA-256 of its body is needed.
  package var needsSHA256: Bool { note?.expectation?.sha256 != nil }
}

/// One of several ways of requesting a list's images, each with images of its own.
package struct RequestVariant: Sendable, Hashable {
  /// The name of its set of request headers, without `#`; nil for plain requests.
  package var name: String?
  /// The server that is used instead of the one in the URL, without `#`; nil for the URL's own.
  package var edge: String?

  package init(name: String? = nil, edge: String? = nil) { (self.name, self.edge) = (name, edge) }

  package static let plain = RequestVariant()

  /// Both names for display, such as `webp, edge-a`; nil if there is neither.
  package var title: String? {
    let names = [name, edge].compactMap(\.self)
    return names.isEmpty ? nil : names.joined(separator: ", ")
  }
}
