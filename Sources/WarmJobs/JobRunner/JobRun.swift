import ImageManaging
import ImagePrefetching
import ImagePrimitives
import ImageURLs
import Manifests
import Reporting

/// One run of a job, as the prefetcher sees it: entries in, results out to the report.
///
/// Bytes of entries stay in the reader's batch; only what is pending keeps a copy of what its row needs.
final class JobRun: PrefetchDelegate {
  private let reader: ManifestReader
  /// So many variants the context has, each of which is asked for in place of the plain one; 0 where it has none.
  private let variants: Int
  private let report: RunReport
  /// Tells which URLs are of one image.
  private let context: LoadContext
  /// Gets the URL of every entry that a dry run would fetch; nil where it would fetch none, and in other runs.
  private let onMiss: ((UnsafeRawBufferPointer) -> Void)?
  private let onProgress: () -> Void

  private var entries = EntryBatch()
  /// For each request of the batch, or all of them that are one entry's variants, the entry.
  private var entryIndices: [Int] = []
  private var pending: [PendingEntry?] = []
  private var nextSequence: Int64 = 0
  /// The absolute path of the job file; nil where there is none.
  private let jobFile: String?
  /// How many manifests the report knows; sitemaps of an index are added as they are named.
  private var knownManifests = 0

  /// Whether any entry was left after include and exclude; bad lines count.
  private(set) var hasEntries = false
  private(set) var blacklistAdded: UInt64 = 0
  private(set) var blacklistRemoved: UInt64 = 0

  /// What the row of a pending entry needs.
  private struct PendingEntry {
    let url: [UInt8]
    let hostOffset: Int
    let hostLength: Int
    let manifest: Int
    let line: UInt64
    let priority: Priority
    let variant: UInt16
    let imageHash: UInt64
  }

  init(
    reader: ManifestReader,
    jobFile: String?,
    variants: Int,
    report: RunReport,
    context: LoadContext,
    onMiss: ((UnsafeRawBufferPointer) -> Void)?,
    onProgress: @escaping () -> Void
  ) {
    self.reader = reader
    self.variants = variants
    self.jobFile = jobFile
    self.report = report
    self.context = context
    self.onMiss = onMiss
    self.onProgress = onProgress
    addManifests()
  }

  private func addManifests() {
    while knownManifests < reader.manifestNames.count {
      let file: String? =
        switch reader.place(ofManifest: knownManifests) {
        case .file(let path): JobPath(path, in: "/").normalized
        case .inline: jobFile
        case .elsewhere: nil
        }
      report.addManifest(reader.manifestNames[knownManifests], file: file)
      knownManifests += 1
    }
  }

  // MARK: PrefetchDelegate

  var sourceDescriptor: Int32? { reader.waitDescriptor }

  func read(_ batch: inout PrefetchBatch, maximum: Int) throws -> PrefetchSourceState {
    entries.removeAll()
    entryIndices.removeAll(keepingCapacity: true)
    // What was read before an error is handed on first, and the error with the next call.
    let state = try reader.nextAvailable(&entries, maximum: max(1, maximum / max(1, variants)))
    addManifests()
    for (index, entry) in entries.entries.enumerated() {
      switch entry.state {
      case .good:
        hasEntries = true
        for variant in variants == 0 ? 0...0 : 1...UInt16(variants) {
          batch.requests.append(
            LoadRequest(
              id: 0,
              url: entry.normalized,
              written: entry.written,
              parts: entry.parts,
              priority: entry.priority,
              sequence: nextSequence,
              variant: variant
            )
          )
          nextSequence += 1
        }
        entryIndices.append(index)
      case .filtered:
        record(EntryResult(.skipped), ofEntry: index)
      case .invalid(let message):
        hasEntries = true
        let failure = Failure(.invalidURL, message: entries.messages[Int(message)])
        record(EntryResult(.failed, details: EntryResult.Details(failure: failure)), ofEntry: index)
      }
    }
    batch.bytes = entries.bytes
    switch state {
    case .more: return .open
    case .waiting: return .blocked
    case .end: return .ended
    }
  }

  /// The entry of a request of the batch, and its variant.
  private func place(ofRequest index: Int) -> (entry: Int, variant: UInt16) {
    if variants == 0 { return (entryIndices[index], 0) }
    let (entry, variant) = index.quotientAndRemainder(dividingBy: variants)
    return (entryIndices[entry], UInt16(variant + 1))
  }

  func decided(_ index: Int, _ result: EntryResult) {
    let (entry, variant) = place(ofRequest: index)
    if let onMiss, result.outcome == .skipped {
      withShownURL(ofEntry: entry) { onMiss($0) }
    }
    record(result, ofEntry: entry, variant: variant)
  }

  func began(_ index: Int, slot: Int) {
    let (entryIndex, variant) = place(ofRequest: index)
    let entry = entries.entries[entryIndex]
    if slot >= pending.count { pending.append(contentsOf: repeatElement(nil, count: slot + 1 - pending.count)) }
    let host = entries.host(of: entry)
    let url = withShownURL(ofEntry: entryIndex) { Array($0) }
    pending[slot] = PendingEntry(
      url: url + host,
      hostOffset: url.count,
      hostLength: host.count,
      manifest: Int(entry.manifest),
      line: entry.line,
      priority: entry.priority,
      variant: variant,
      imageHash: imageHash(of: entry)
    )
  }

  func completed(slot: Int, _ completion: LoadCompletion) {
    guard let entry = pending[slot] else { preconditionFailure("a request completes once") }
    pending[slot] = nil
    if completion.joinedBlacklist { blacklistAdded += 1 }
    if completion.leftBlacklist { blacklistRemoved += 1 }
    entry.url.withUnsafeBytes { bytes in
      let url = UnsafeRawBufferPointer(rebasing: bytes[..<entry.hostOffset])
      if completion.result.outcome == .skipped { onMiss?(url) }
      report.record(
        completion.result,
        of: ReportedEntry(
          url: url,
          manifest: entry.manifest,
          line: entry.line,
          priority: entry.priority,
          host: UnsafeRawBufferPointer(rebasing: bytes[entry.hostOffset...]),
          variant: Int(entry.variant),
          imageHash: entry.imageHash
        )
      )
    }
  }

  func progressed() {
    onProgress()
  }

  // MARK: Rows

  private func record(_ result: EntryResult, ofEntry index: Int, variant: UInt16 = 0) {
    let entry = entries.entries[index]
    withShownURL(ofEntry: index) { url in
      entries.bytes.withUnsafeBytes { bytes in
        report.record(
          result,
          of: ReportedEntry(
            url: url,
            manifest: Int(entry.manifest),
            line: entry.line,
            priority: entry.priority,
            host: UnsafeRawBufferPointer(rebasing: bytes[entries.hostRange(of: entry)]),
            variant: Int(variant),
            imageHash: result.checksum == nil ? nil : imageHash(of: entry)
          )
        )
      }
    }
  }

  private func imageHash(of entry: ManifestEntry) -> UInt64 {
    entries.bytes.withUnsafeBytes { bytes in
      context.imageHash(of: UnsafeRawBufferPointer(rebasing: bytes[entry.normalized]), parts: entry.parts)
    }
  }

  /// The entry's URL as written, without its credentials.
  private func withShownURL<Result>(ofEntry index: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let entry = entries.entries[index]
    return entries.bytes.withUnsafeBytes { bytes in
      let written = UnsafeRawBufferPointer(rebasing: bytes[entry.written])
      return holdsCredentials(written) ? maskingCredentials(written).withRawBytes(body) : body(written)
    }
  }
}

extension EntryBatch {
  /// Where the name and port of the entry's host lie; empty for a bad line.
  fileprivate func hostRange(of entry: ManifestEntry) -> Range<Int> {
    guard case .invalid = entry.state else {
      let start = entry.normalized.lowerBound
      return start + entry.parts.hostAndPort.lowerBound..<start + entry.parts.hostAndPort.upperBound
    }
    return 0..<0
  }

  fileprivate func host(of entry: ManifestEntry) -> ArraySlice<UInt8> { bytes[hostRange(of: entry)] }
}
