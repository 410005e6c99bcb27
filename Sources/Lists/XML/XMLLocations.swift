import Base

/// The locations that the elements of an XML list name, in document order, with their texts.
///
/// The locations of an entry are held until the entry ends, since its date, priority or identifier may follow them.
final class XMLLocations {
  /// A location to read or to fetch.
  struct Location {
    /// Its range in ``XMLLocations/texts``.
    var range: Range<Int>
    var line: UInt64
    var kind: Kind
    /// The name of its priority, if its entry sets one.
    var priority: StaticString?
    /// What its entry says about it.
    var note: EntryNote?
  }

  enum Kind {
    case image, page, sitemap
  }

  /// The maximum of an entry; Google accepts 1,000 images per page.
  private static let maximumEntryLocations = 10_000
  private static let maximumEntryBytes = 8 << 20

  var remarks = ReadingRemarks()
  /// The reason why the rest isn't read.
  private(set) var problem: String?

  private let texts = GrowingBytes()
  private var ready: [Location] = []
  private var readyIndex = 0
  private var held: [Location] = []
  /// The start of the entry in ``texts``; nil between entries.
  private var entryStart: Int?
  /// The start of the location that is being read; nil if there is none.
  private var textStart: Int?

  /// Records that the rest can't be read; the first reason is kept.
  func refuse(_ sentence: String) { problem = problem ?? sentence }

  // MARK: Results

  /// Returns the next location of a finished entry; nil if the parser must continue.
  func next() -> Location? {
    guard readyIndex < ready.count else { return nil }
    defer { readyIndex += 1 }
    return ready[readyIndex]
  }

  /// Valid until the parser continues.
  func text(of location: Location) -> UnsafeRawBufferPointer { texts[location.range] }

  /// Frees locations that ``next()`` has returned; must be called before the parser continues.
  func discardRead() {
    guard readyIndex == ready.count else { return }
    ready.removeAll(keepingCapacity: true)
    readyIndex = 0
    let start = entryStart ?? texts.count
    texts.removeFirst(start)
    if entryStart != nil { entryStart = 0 }
    for index in held.indices { held[index].range = held[index].range.lowerBound - start..<held[index].range.upperBound - start }
    textStart = textStart.map { $0 - start }
  }

  // MARK: Entries

  func beginEntry() { entryStart = texts.count }

  /// Whether the entry has no location so far.
  var isEntryEmpty: Bool { held.isEmpty }

  /// Drops the page of an entry that names its images.
  func dropPageBesideImages() { if held.contains(where: { $0.kind == .image }) { held.removeAll { $0.kind == .page } } }

  /// Ends the entry, whose locations are then returned.
  func endEntry(priority: StaticString? = nil, note: EntryNote? = nil) {
    for var location in held {
      location.priority = priority
      location.note = note
      ready.append(location)
    }
    remarks.entries += held.count
    clearEntry()
  }

  /// Ends the entry without its locations.
  func dropEntry() {
    if let entryStart { texts.removeAll(from: entryStart) }
    clearEntry()
  }

  private func clearEntry() {
    entryStart = nil
    held.removeAll(keepingCapacity: true)
  }

  // MARK: Texts of an entry's locations

  func beginText() { textStart = texts.count }

  func appendText(_ bytes: UnsafeRawBufferPointer) {
    guard let textStart else { return }
    // One byte beyond the maximum shows that it is too long.
    texts.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(InputBuffer.maximumRowBytes + 1 - (texts.count - textStart))))
  }

  /// Ends the text and returns it without surrounding white space, at most `maximum` bytes.
  func takeText(maximum: Int) -> [UInt8] {
    guard let start = textStart else { return [] }
    defer { texts.removeAll(from: start) }
    textStart = nil
    return Array(texts[start..<texts.count].trimmedOfXMLSpace().prefix(maximum))
  }

  /// Takes the text as a location of the kind that `kind` returns; drops it if that is nil.
  func endText(line: UInt64, _ kind: (UnsafeRawBufferPointer) -> Kind?) {
    guard let start = textStart else { return }
    textStart = nil
    let written = texts[start..<texts.count]
    let text = written.trimmedOfXMLSpace()
    guard let kind = kind(text) else {
      texts.removeAll(from: start)
      return
    }
    let first = start + (text.baseAddress! - written.baseAddress!)
    held.append(Location(range: first..<first + text.count, line: line, kind: kind))
    if held.count > Self.maximumEntryLocations || texts.count - (entryStart ?? 0) > Self.maximumEntryBytes {
      refuse("an entry has more than \(Self.maximumEntryLocations) locations or \(Self.maximumEntryBytes >> 20) MiB")
    }
  }
}
