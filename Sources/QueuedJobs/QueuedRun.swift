#if Queue
import ImageCaching
import ImageManaging
import ImagePrimitives
import ImageURLs
import Reports
import WorkQueues

/// A worker's run over a queue, as the prefetcher sees it: entries of messages in, rows and acknowledgements out.
///
/// A message is acknowledged when all of its entries are final; images are final after their commit. Each pending entry
/// refers to its message.
final class QueuedRun: PrefetchDelegate {
  /// The reasons to end before the queue does.
  enum Ending: Error {
    /// Redis refuses, for that reason.
    case refused(String)
    /// The queue was deleted or filled again.
    case replaced
  }

  let consumer: QueueConsumer
  private let blacklist: SharedBlacklist
  private let maximumDeliveries: Int
  /// The number of the context's variants; 0 if it has none.
  let variants: Int
  let time: TimeSource
  private let onProgress: (QueuedRun) -> Void

  private let normalizer = URLNormalizer()
  var rows: DetailedRows
  /// Messages that have arrived and aren't started.
  var line: MessageLine
  /// The message being read, and its first unread entry.
  private var current: HeldMessage?
  private var nextEntry = 0
  /// Whether reading must wait for messages, or for requests to end.
  private var isBlocked = false
  var heldEntries = 0
  /// Entries that were requested and haven't arrived; negative if more have arrived.
  private var credits = 0
  var lookAhead: LookAhead
  /// The reason why it ends before the queue does; nil if it doesn't.
  private(set) var ending: Ending?
  private var isDrained = false
  /// Whether open requests are useless: others have finished their entries, or the queue is gone.
  var isInVain: Bool { ending != nil || isDrained && line.hasOpenRequests }

  /// The outcomes of entries in messages that were finished here, including some that others have taken over.
  var totals = Totals()
  var receivedBytes: UInt64 = 0
  /// Messages that others have taken over.
  private(set) var lostMessages: UInt64 = 0

  init(
    _ consumer: QueueConsumer,
    maximumDeliveries: Int,
    variants: [RequestVariant],
    line: MessageLine,
    leastLookAhead: Int,
    blacklist: SharedBlacklist,
    time: TimeSource,
    onProgress: @escaping (QueuedRun) -> Void
  ) {
    self.consumer = consumer
    self.maximumDeliveries = maximumDeliveries
    self.variants = variants.count
    self.line = line
    self.lookAhead = LookAhead(least: leastLookAhead, now: time.monotonic())
    self.blacklist = blacklist
    self.time = time
    self.onProgress = onProgress
    rows = DetailedRows(variants: variants)
  }

  // MARK: PrefetchDelegate

  var sourceDescriptor: Int32? { consumer.descriptor }

  func read(_ batch: inout EntryBatch, maximum: Int) throws -> PrefetchSourceState {
    takeNews()
    while batch.entries.count < maximum, let held = try currentMessage() {
      while nextEntry < held.message.entries.count, batch.entries.count < maximum {
        add(nextEntry, of: held, to: &batch)
        nextEntry += 1
      }
      guard nextEntry == held.message.entries.count else { break }
      current = nil
      nextEntry = 0
      // A message without requests is finished here.
      held.expect(-1)
      settleIfDone(held)
    }
    if !batch.entries.isEmpty { return .open }
    if let ending { throw ending }
    if isDrained, line.isEmpty { return .ended }
    isBlocked = true
    return .blocked
  }

  func finished(_ entry: Entry, _ completion: LoadCompletion) {
    guard let held = entry.owner as? HeldMessage else { preconditionFailure("an entry belongs to its message") }
    finish(entry, of: held, completion)
  }

  func progressed() {
    demand()
    consumer.setNeedsWork(current == nil && line.isRunningDry)
    if isBlocked, line.hasNext(pace: lookAhead.pace) {
      isBlocked = false
      consumer.wake()
    }
    onProgress(self)
  }

  // MARK: Messages

  /// Requests more entries if there is room for them.
  private func demand() {
    lookAhead.adapt(now: time.monotonic())
    let room = lookAhead.entries - heldEntries - credits
    // Not for each entry that has ended.
    guard ending == nil, !isDrained, room > lookAhead.entries / 8 else { return }
    consumer.take(maximumEntries: room)
    credits += room
  }

  private func takeNews() {
    isBlocked = false
    let news = consumer.takeNews()
    lostMessages += UInt64(news.lost.count)
    if !news.lost.isEmpty {
      let lost = Set(news.lost)
      letGo(line.takeAll { lost.contains($0.message.id) })
    }
    for message in news.messages {
      heldEntries += message.entries.count
      credits -= max(1, message.entries.count)
      line.add(HeldMessage(message))
    }
    switch news.condition {
    case .working, .waiting, .stopped: break
    case .drained: isDrained = true
    case .replaced: ending = .replaced
    case .refused(let why): ending = .refused(why)
    }
    if ending != nil {
      // None of it counts any more.
      letGo(line.takeAll { _ in true })
      current = nil
    }
    if news.othersNeedWork { giveBack() }
    demand()
  }

  /// Gives back a part of the messages that aren't started.
  private func giveBack() {
    let part = line.takePart()
    letGo(part)
    if !part.isEmpty { consumer.giveBack(part.map(\.message.id)) }
  }

  /// Gives back messages that won't be started here.
  private func letGo(_ messages: [HeldMessage]) {
    for held in messages { heldEntries -= held.message.entries.count }
  }

  /// The message being read, or the next one to start.
  private func currentMessage() throws(CacheError) -> HeldMessage? {
    if let current { return current }
    guard let held = line.next(pace: lookAhead.pace) else { return nil }
    current = held
    // Prevents it from being finished before it is read to its end.
    held.expect(1)
    try blacklist.take(held.message)
    return held
  }

  private func add(_ index: Int, of held: HeldMessage, to batch: inout EntryBatch) {
    let entry = held.message.entries[index]
    switch entry.state {
    case .good where held.message.isGivenUp:
      fail(
        .internal,
        "given up after \(maximumDeliveries) attempts: each time, its worker ended before finishing it",
        index,
        held
      )
    case .good:
      let start = batch.bytes.count
      do throws(InvalidURL) {
        let parts = try held.message.bytes.withRawBytes { bytes throws(InvalidURL) in
          try normalizer.normalize(UnsafeRawBufferPointer(rebasing: bytes[entry.url]), relativeTo: nil, into: &batch.bytes)
        }
        append(index, of: held, normalized: start..<batch.bytes.count, parts, to: &batch)
      } catch {
        fail(.invalidURL, error.message, index, held, variants: 1)
      }
    case .filtered:
      var remarks = DetailedRows.Remarks()
      remarks.isLeftOut = true
      held.expect(1)
      take(EntryResult(.skipped), held.entry(index), of: held, remarks)
    case .invalid(let sentence):
      fail(.invalidURL, String(decoding: held.message.bytes[sentence], as: UTF8.self), index, held, variants: 1)
    }
  }

  private func append(
    _ index: Int,
    of held: HeldMessage,
    normalized: Range<Int>,
    _ parts: URLParts,
    to batch: inout EntryBatch
  ) {
    let entry = held.message.entries[index]
    let url = held.message.bytes[entry.url]
    var written = normalized
    if !batch.bytes[normalized].elementsEqual(url) {
      written = batch.bytes.count..<batch.bytes.count + url.count
      batch.bytes.append(contentsOf: url)
    }
    held.expect(max(1, variants))
    line.change(held.host, by: max(1, variants))
    var variant: UInt16 = variants == 0 ? 0 : 1
    repeat {
      batch.append(
        BatchEntry(
          source: entry.manifest,
          line: entry.line,
          priority: held.message.priority,
          variant: variant,
          parts: parts,
          requestRange: normalized,
          writtenRange: written
        ),
        owner: held
      )
      variant += 1
    } while variant <= variants
  }
}

/// Outcomes of entries, and their rows.
extension QueuedRun {
  /// Ends an entry that isn't requested; `count` is the number of its variants, by default all.
  func fail(_ kind: FailureKind, _ message: String, _ index: Int, _ held: HeldMessage, variants count: Int? = nil) {
    let details = EntryResult.Details(failure: ImageFailure(kind, message: message))
    let isPlain = count != nil || variants == 0
    for variant in isPlain ? 0...0 : 1...UInt16(variants) {
      held.expect(1)
      take(EntryResult(.failed, details: details), held.entry(index, variant: variant), of: held)
    }
  }

  func finish(_ entry: Entry, of held: HeldMessage, _ completion: LoadCompletion) {
    line.change(held.host, by: -1)
    if completion.result.outcome == .cancelled {
      held.cancelOne()
    } else {
      var remarks = DetailedRows.Remarks()
      remarks.joinedBlacklist = completion.joinedBlacklist
      remarks.leftBlacklist = completion.leftBlacklist
      if remarks.joinedBlacklist || remarks.leftBlacklist { share(completion, entry, of: held) }
      take(completion.result, entry, of: held, remarks)
    }
    settleIfDone(held)
  }

  /// Notifies the other workers of a URL that is bad, or good again.
  private func share(_ completion: LoadCompletion, _ entry: Entry, of held: HeldMessage) {
    let key = entry.withWrittenURL { BadURLKey(url: $0, variant: Int(entry.variant) - (variants == 0 ? 0 : 1)) }
    if completion.leftBlacklist {
      held.note(key, bad: nil)
    } else if let failure = completion.result.failure {
      held.note(key, bad: SharedFailure(kind: failure.kind, status: failure.status, at: blacklist.context.startedAt).encoded)
    }
  }

  func take(
    _ result: EntryResult,
    _ entry: Entry,
    of held: HeldMessage,
    _ remarks: DetailedRows.Remarks = DetailedRows.Remarks()
  ) {
    if !result.isShared { receivedBytes += result.receivedBytes }
    rows.removeAll()
    entry.withShownURL { url in
      let reported = ReportedEntry(
        url: url,
        // prewarm never writes more.
        manifest: min(Int(entry.source), DetailedRows.maximumManifests - 1),
        line: entry.line,
        priority: entry.priority,
        host: UnsafeRawBufferPointer(start: nil, count: 0),
        variant: Int(entry.variant)
      )
      rows.append(result, of: reported, remarks)
    }
    rows.withUnsafeBytes { held.take(result.outcome, row: $0) }
  }

  func settleIfDone(_ held: HeldMessage) {
    guard held.openResults == 0 else { return }
    heldEntries -= held.message.entries.count
    lookAhead.finish(held.message.entries.count)
    guard !held.isUnfinished else {
      // Leaves unfinished entries to others one by one, so that the finished ones aren't repeated with them.
      if held.message.entries.count > 1, held.outcomes.contains(where: { $0.1 > 0 }) { consumer.divide(held.message) }
      return
    }
    for (outcome, count) in held.outcomes { totals.add(outcome, count) }
    consumer.acknowledge(held.settlement())
  }
}
#endif
