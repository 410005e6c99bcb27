public import ImagePrimitives
public import ImageURLs

/// Makes entries of rows: resolves, normalises and filters them by their manifest's settings.
final class EntryAssembler {
  private let manifests: [Manifest]
  private let normalizer = URLNormalizer()

  init(_ manifests: [Manifest]) { self.manifests = manifests }

  /// The class of a row; one that names an unknown class is a row with a problem.
  func priority(of row: inout Row, manifest: Int) -> Priority {
    let inherited = manifests[manifest].priority
    guard let word = row.priority, !word.isEmpty, row.problem == nil else { return inherited }
    if let named = Priority.allCases.first(where: { $0.name.utf8.elementsEqual(word) }) { return named }
    let names = Priority.allCases.map(\.name).joined(separator: ", ")
    row.problem = "“\(String(decoding: word.prefix(64), as: UTF8.self))” is no priority; it is one of \(names)"
    return inherited
  }

  /// Appends the entries of rows of `file`, relative to `base`, to `batch`, and returns what became of them.
  func append(
    _ rows: [PlainRow],
    priority: Priority,
    file: Int,
    manifest index: Int,
    base: BaseURL?,
    to batch: inout EntryBatch
  ) -> ManifestReader.Counts {
    var counts = ManifestReader.Counts(read: rows.count)
    let manifest = manifests[index]
    let isFiltered = !manifest.include.isEmpty || !manifest.exclude.isEmpty
    for row in rows {
      guard !isFiltered, let parts = URLNormalizer.parts(ofNormalForm: row.url) else {
        switch append(row.row, priority: priority, file: file, manifest: index, base: base, to: &batch) {
        case .good: break
        case .filtered: counts.filtered += 1
        case .invalid: counts.invalid += 1
        }
        continue
      }
      let (start, length) = (UInt32(batch.bytes.count), UInt32(row.url.count))
      batch.bytes.append(contentsOf: row.url)
      batch.entries.append(
        ManifestEntry(
          manifest: UInt32(file),
          line: row.line,
          priority: priority,
          state: .good,
          parts: parts,
          writtenOffset: start,
          writtenLength: length,
          normalizedOffset: start,
          normalizedLength: length
        )
      )
    }
    return counts
  }

  /// Appends the entry of a row of `file`, relative to `base`, to `batch`, and returns what became of it.
  @discardableResult
  func append(
    _ row: Row,
    priority: Priority,
    file: Int,
    manifest: Int,
    base: BaseURL?,
    to batch: inout EntryBatch
  ) -> ManifestEntry.State {
    let start = UInt32(batch.bytes.count)
    var entry = ManifestEntry(
      manifest: UInt32(file),
      line: row.line,
      priority: priority,
      state: .good,
      parts: .empty,
      writtenOffset: start,
      writtenLength: 0,
      normalizedOffset: start,
      normalizedLength: 0
    )
    if let problem = row.problem {
      setInvalid(&entry, row, problem, &batch)
    } else {
      do throws(InvalidURL) {
        try normalize(row.url, &entry, base, &batch)
        if !isIncluded(entry, by: manifests[manifest], in: batch) { entry.state = .filtered }
      } catch {
        setInvalid(&entry, row, error.message, &batch)
      }
    }
    batch.entries.append(entry)
    return entry.state
  }

  /// The parts of the row's URL where it is in normal form and nothing is filtered: a good entry as it stands; else nil.
  @inline(__always)
  func partsOfGoodEntry(_ row: Row, manifest index: Int) -> URLParts? {
    let manifest = manifests[index]
    guard row.problem == nil, manifest.include.isEmpty, manifest.exclude.isEmpty else { return nil }
    return URLNormalizer.parts(ofNormalForm: row.url)
  }

  @inline(__always)
  private func normalize(
    _ written: UnsafeRawBufferPointer,
    _ entry: inout ManifestEntry,
    _ base: BaseURL?,
    _ batch: inout EntryBatch
  ) throws(InvalidURL) {
    if let parts = URLNormalizer.parts(ofNormalForm: written) {
      entry.parts = parts
      entry.normalizedLength = UInt32(written.count)
      entry.writtenLength = entry.normalizedLength
      batch.bytes.append(contentsOf: written)
      return
    }
    entry.parts = try normalizer.normalize(written, relativeTo: base, into: &batch.bytes)
    entry.normalizedLength = UInt32(entry.parts.count)
    entry.writtenLength = entry.normalizedLength
    // A relative one is shown resolved, and so in normal form.
    if URLNormalizer.isRelative(written) { return }
    entry.writtenOffset = UInt32(batch.bytes.count)
    entry.writtenLength = UInt32(written.count)
    batch.bytes.append(contentsOf: written)
  }

  private func setInvalid(_ entry: inout ManifestEntry, _ row: Row, _ message: String, _ batch: inout EntryBatch) {
    entry.state = .invalid(message: UInt32(batch.messages.count))
    batch.messages.append(message)
    entry.writtenLength = UInt32(row.url.count)
    batch.bytes.append(contentsOf: row.url)
  }

  @inline(__always)
  private func isIncluded(_ entry: ManifestEntry, by manifest: Manifest, in batch: EntryBatch) -> Bool {
    if manifest.include.isEmpty && manifest.exclude.isEmpty { return true }
    return batch.bytes.withUnsafeBytes { bytes in
      let url = UnsafeRawBufferPointer(rebasing: bytes[entry.normalized])
      let fits = { (pattern: URLPattern) in pattern.matches(url, parts: entry.parts) }
      return (manifest.include.isEmpty || manifest.include.contains(where: fits)) && !manifest.exclude.contains(where: fits)
    }
  }
}

/// Entries of manifests, their texts side by side in one array, whose storage is used again for the next batch.
public struct EntryBatch: Sendable {
  /// The texts that entries point into.
  public var bytes: [UInt8] = []
  /// The entries, in the order in which they are to be fetched.
  public var entries: [ManifestEntry] = []
  /// What is wrong with entries that are invalid: a sentence each.
  public var messages: [String] = []

  /// An empty batch.
  public init() {}

  /// Empties it and keeps its storage.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
    messages.removeAll(keepingCapacity: true)
  }
}

/// One row of a manifest.
public struct ManifestEntry: Sendable {
  /// What became of a row.
  public enum State: Sendable, Hashable {
    /// To be fetched.
    case good
    /// Left out by `include` or `exclude`.
    case filtered
    /// No URL can be made of it; why is the message of that index in the batch.
    case invalid(message: UInt32)
  }

  /// The index of its manifest in ``ManifestReader/manifestNames``.
  public var manifest: UInt32
  /// The line on which it begins, from 1.
  public var line: UInt64
  /// Its own class, or its manifest's.
  public var priority: Priority
  /// What became of it.
  public var state: State
  /// Where the parts of the normalised URL lie in ``normalized``; empty where it is invalid.
  public var parts: URLParts
  var writtenOffset: UInt32
  var writtenLength: UInt32
  var normalizedOffset: UInt32
  var normalizedLength: UInt32

  /// Where in the batch's bytes it stands as written, a relative one resolved; credentials are not masked.
  public var written: Range<Int> { Int(writtenOffset)..<Int(writtenOffset) + Int(writtenLength) }

  /// Where in the batch's bytes the normalised URL stands; the same place where it was written so, empty where it is invalid.
  public var normalized: Range<Int> { Int(normalizedOffset)..<Int(normalizedOffset) + Int(normalizedLength) }
}
