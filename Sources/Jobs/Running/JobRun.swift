import ImageManaging
import Base
import Lists
import Reports

/// One run of a job, as the prefetcher sees it: entries in, results out to the report.
///
/// It stores nothing per entry; the entry comes back with its result.
final class JobRun: PrefetchDelegate {
  private let reader: any EntrySource
  /// The number of the context's variants, each requested instead of the plain one; 0 if it has none.
  private let variants: Int
  private let report: RunReport
  /// Decides which URLs are the same image.
  private let context: LoadContext
  /// Called with the URL of every entry that a dry run would fetch; nil in other runs, and if nothing would be fetched.
  private let onMiss: ((UnsafeRawBufferPointer) -> Void)?
  private let onProgress: () -> Void
  /// Called when this machine can't store images or reach hosts, since going on is pointless.
  private let onFault: () -> Void
  private var network = NetworkFault()

  /// The absolute path of the job file; nil if there is none.
  private let jobFile: String?
  /// The number of manifests that the report knows; sitemaps of an index are added as they are named.
  private var knownManifests = 0

  /// Whether any entry passed include and exclude; bad lines count.
  private(set) var hasEntries = false
  /// A sentence on why no host could be reached because of this machine; nil if one could, or if that isn't known.
  var networkFault: String? { network.sentence }
  private(set) var blacklistAdded: UInt64 = 0
  private(set) var blacklistRemoved: UInt64 = 0

  init(
    reader: any EntrySource,
    jobFile: String?,
    variants: Int,
    report: RunReport,
    context: LoadContext,
    onMiss: ((UnsafeRawBufferPointer) -> Void)?,
    onFault: @escaping () -> Void,
    onProgress: @escaping () -> Void
  ) {
    self.reader = reader
    self.variants = variants
    self.jobFile = jobFile
    self.report = report
    self.context = context
    self.onMiss = onMiss
    self.onFault = onFault
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

  func read(_ batch: inout EntryBatch, maximum: Int) throws -> PrefetchSourceState {
    // Entries before an error are returned first, and the error by the next call.
    let state = try reader.nextAvailable(&batch, maximum: max(1, maximum / max(1, variants)))
    addManifests()
    if variants > 0 || batch.entries.contains(where: { $0.state != .good }) { batch = requested(batch) }
    hasEntries = hasEntries || !batch.entries.isEmpty
    switch state {
    case .more: return .open
    case .waiting: return .blocked
    case .end: return .ended
    }
  }

  /// The valid entries of a batch, each in all of its variants; the others end here.
  private func requested(_ batch: EntryBatch) -> EntryBatch {
    var good = EntryBatch()
    good.bytes = batch.bytes
    good.entries.reserveCapacity(batch.entries.count * max(1, variants))
    for (index, var entry) in batch.entries.enumerated() {
      switch entry.state {
      case .good where variants == 0: good.append(entry, owner: batch.owner(index))
      case .good:
        for variant in 1...UInt16(variants) {
          entry.variant = variant
          good.append(entry, owner: batch.owner(index))
        }
      case .filtered: record(EntryResult(.skipped), of: batch.entry(index))
      case .invalid(let message):
        hasEntries = true
        let sentence = batch.messages[Int(message)]
        let failure = ImageFailure(.invalidURL, message: jobFile == nil ? Job.namingOptions(sentence) : sentence)
        record(EntryResult(.failed, failure: failure), of: batch.entry(index))
      }
    }
    return good
  }

  func finished(_ entry: Entry, _ completion: LoadCompletion) {
    if completion.joinedBlacklist { blacklistAdded += 1 }
    if completion.leftBlacklist { blacklistRemoved += 1 }
    network.note(completion.result)
    if completion.result.failure?.kind == .cacheWrite || network.isCertain { onFault() }
    if let onMiss, completion.result.outcome == .skipped { entry.withShownURL(onMiss) }
    record(expected(blamed(completion.result), of: entry), of: entry)
  }

  /// The result, with the blame on this machine if it has no network.
  private func blamed(_ result: EntryResult) -> EntryResult {
    guard network.isCertain, let sentence = network.sentence, result.failure?.unreachableReason != nil else { return result }
    var result = result
    result.details = EntryResult(.failed, failure: ImageFailure(.internal, message: sentence)).details
    return result
  }

  /// The result, as failed if its list expects another image.
  private func expected(_ result: EntryResult, of entry: Entry) -> EntryResult {
    // A dry run fetches nothing.
    guard onMiss == nil, let expectation = entry.note?.expectation else { return result }
    switch result.outcome {
    case .hitMemory, .hitDisk, .downloaded, .revalidated, .checked: break
    case .failed, .blacklisted, .skipped, .cancelled: return result
    }
    guard let failure = expectation.failure(of: result) else { return result }
    var result = result
    result.outcome = .failed
    (result.details.failure, result.details.isBlacklisted) = (failure, false)
    return result
  }

  func progressed() {
    onProgress()
  }

  private func record(_ result: EntryResult, of entry: Entry) {
    var imageHash: UInt64?
    let isIdentified = result.bodyIdentity != nil || report.identifiesImages
    if isIdentified, entry.parts != .empty { imageHash = entry.withRequestURL { context.imageHash(of: $0, parts: entry.parts) } }
    entry.withShownURL { url in
      entry.text.withUnsafeBytes { text in
        report.record(
          result,
          of: ReportedEntry(
            url: url,
            manifest: Int(entry.source),
            line: entry.line,
            priority: entry.priority,
            host: UnsafeRawBufferPointer(rebasing: text[entry.hostRange]),
            variant: Int(entry.variant),
            imageHash: imageHash,
            note: entry.note
          )
        )
      }
    }
  }
}
