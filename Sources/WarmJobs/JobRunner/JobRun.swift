import ImageManaging
import ImagePrimitives
import ImageURLs
import Manifests
import Reports

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
      let file = reader.file(ofManifest: knownManifests, jobFile: jobFile)
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
    batch.requests.reserveCapacity(entries.entries.count * max(1, variants))
    for (index, entry) in entries.entries.enumerated() {
      switch entry.state {
      case .good:
        hasEntries = true
        var variant: UInt16 = variants == 0 ? 0 : 1
        repeat {
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
          variant += 1
        } while variant <= variants
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
      entries.bytes.withUnsafeBytes { withShownURL(of: entries.entries[entry], in: $0) { onMiss($0) } }
    }
    record(result, ofEntry: entry, variant: variant)
  }

  func began(_ index: Int, slot: Int) {
    let (entryIndex, variant) = place(ofRequest: index)
    let entry = entries.entries[entryIndex]
    if slot >= pending.count { pending.append(contentsOf: repeatElement(nil, count: slot + 1 - pending.count)) }
    pending[slot] = entries.bytes.withUnsafeBytes { bytes in
      let host = bytes[entry.hostRange]
      let url = withShownURL(of: entry, in: bytes) { Array($0) }
      return PendingEntry(
        url: url + host,
        hostOffset: url.count,
        manifest: Int(entry.manifest),
        line: entry.line,
        priority: entry.priority,
        variant: variant,
        imageHash: imageHash(of: entry, in: bytes)
      )
    }
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
    entries.bytes.withUnsafeBytes { bytes in
      withShownURL(of: entry, in: bytes) { url in
        report.record(
          result,
          of: ReportedEntry(
            url: url,
            manifest: Int(entry.manifest),
            line: entry.line,
            priority: entry.priority,
            host: UnsafeRawBufferPointer(rebasing: bytes[entry.hostRange]),
            variant: Int(variant),
            imageHash: result.checksum == nil ? nil : imageHash(of: entry, in: bytes)
          )
        )
      }
    }
  }

  private func imageHash(of entry: ManifestEntry, in bytes: UnsafeRawBufferPointer) -> UInt64 {
    context.imageHash(of: UnsafeRawBufferPointer(rebasing: bytes[entry.normalized]), parts: entry.parts)
  }

  /// The entry's URL as written, without its credentials.
  @inline(__always)
  private func withShownURL<Result>(
    of entry: ManifestEntry,
    in bytes: UnsafeRawBufferPointer,
    _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    let written = UnsafeRawBufferPointer(rebasing: bytes[entry.written])
    return holdsCredentials(written) ? maskingCredentials(written).withRawBytes(body) : body(written)
  }
}

extension ManifestEntry {
  /// Where in the batch's bytes the name and port of its host lie; empty for a bad line.
  var hostRange: Range<Int> {
    if case .invalid = state { return 0..<0 }
    let start = normalized.lowerBound
    return start + parts.hostAndPort.lowerBound..<start + parts.hostAndPort.upperBound
  }
}
