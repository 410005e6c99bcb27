import Base

/// Turns rows into entries: resolves, normalises and filters them by the settings of their list.
final class EntryAssembler {
  private let lists: [URLList]
  private let normalizer = URLNormalizer()

  init(_ lists: [URLList]) { self.lists = lists }

  /// Returns the priority of a row; an unknown priority is recorded as the row's problem.
  func priority(of row: inout Row, list: Int) -> LoadPriority {
    let inherited = lists[list].priority
    guard let word = row.priority, !word.isEmpty, row.problem == nil else { return inherited }
    if let named = LoadPriority.allCases.first(where: { $0.name.utf8.elementsEqual(word) }) { return named }
    let names = LoadPriority.allCases.map(\.name).joined(separator: ", ")
    row.problem =
      "'\(String(decoding: maskingCredentials(word).prefix(64), as: UTF8.self))' isn't a priority; use one of \(names)"
    return inherited
  }

  /// Appends the entries of rows of `file`, resolved against `base`, to `batch`, and returns how many were read,
  /// filtered and invalid.
  func append(
    _ rows: [PlainRow],
    priority: LoadPriority,
    file: Int,
    list index: Int,
    base: BaseURL?,
    to batch: inout EntryBatch
  ) -> ListReader.Counts {
    var counts = ListReader.Counts()
    let isFiltered = !lists[index].include.isEmpty || !lists[index].exclude.isEmpty
    for row in rows {
      guard !isFiltered, let parts = URLNormalizer.parts(ofNormalForm: row.url) else {
        counts.add(append(row.row, priority: priority, file: file, list: index, base: base, to: &batch))
        continue
      }
      let start = batch.bytes.count
      batch.bytes.append(contentsOf: row.url)
      batch.entries.append(
        BatchEntry(
          source: UInt32(file),
          line: row.line,
          priority: priority,
          parts: parts,
          requestRange: start..<batch.bytes.count
        )
      )
    }
    counts.read = rows.count
    return counts
  }

  /// Appends the entry of a row of `file`, resolved against `base`, to `batch`, and returns its outcome.
  @discardableResult
  func append(
    _ row: Row,
    priority: LoadPriority,
    file: Int,
    list: Int,
    base: BaseURL?,
    to batch: inout EntryBatch
  ) -> BatchEntry.State {
    let start = batch.bytes.count
    var entry = BatchEntry(source: UInt32(file), line: row.line, priority: priority, parts: .empty, requestRange: start..<start)
    if let problem = row.problem {
      setInvalid(&entry, row, problem, &batch)
    } else {
      do throws(InvalidURL) {
        try normalize(row.url, &entry, base, &batch)
        if !isIncluded(entry, by: lists[list], in: batch) { entry.state = .filtered }
      } catch {
        setInvalid(&entry, row, error.message, &batch)
      }
    }
    batch.append(entry, owner: row.note)
    return entry.state
  }

  /// Returns the parts of the row's URL if it is in normal form and the list has no filter, so that it is valid as
  /// it is; else nil.
  @inline(__always)
  func partsOfGoodEntry(_ row: Row, list index: Int) -> URLParts? {
    guard row.problem == nil, lists[index].include.isEmpty, lists[index].exclude.isEmpty else { return nil }
    return URLNormalizer.parts(ofNormalForm: row.url)
  }

  @inline(__always)
  private func normalize(
    _ written: UnsafeRawBufferPointer,
    _ entry: inout BatchEntry,
    _ base: BaseURL?,
    _ batch: inout EntryBatch
  ) throws(InvalidURL) {
    let start = batch.bytes.count
    if let parts = URLNormalizer.parts(ofNormalForm: written) {
      entry.parts = parts
      entry.requestRange = start..<start + written.count
      entry.writtenRange = entry.requestRange
      batch.bytes.append(contentsOf: written)
      return
    }
    entry.parts = try normalizer.normalize(written, relativeTo: base, into: &batch.bytes)
    entry.requestRange = start..<start + entry.parts.count
    entry.writtenRange = entry.requestRange
    // A relative reference is reported resolved, and so in normal form.
    if URLNormalizer.isRelative(written) { return }
    entry.writtenRange = batch.bytes.count..<batch.bytes.count + written.count
    batch.bytes.append(contentsOf: written)
  }

  private func setInvalid(_ entry: inout BatchEntry, _ row: Row, _ message: String, _ batch: inout EntryBatch) {
    entry.state = .invalid(message: UInt32(batch.messages.count))
    batch.messages.append(message)
    entry.writtenRange = batch.bytes.count..<batch.bytes.count + row.url.count
    batch.bytes.append(contentsOf: row.url)
  }

  @inline(__always)
  private func isIncluded(_ entry: BatchEntry, by list: URLList, in batch: EntryBatch) -> Bool {
    if list.include.isEmpty && list.exclude.isEmpty { return true }
    return batch.bytes.withUnsafeBytes { bytes in
      let url = UnsafeRawBufferPointer(rebasing: bytes[entry.requestRange])
      return isSelected(url, entry.parts, by: list.include, butNot: list.exclude)
    }
  }
}
