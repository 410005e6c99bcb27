#if Queue
import ImagePrimitives
import ImageURLs
import Reports
import WorkQueues

/// A message that this worker holds, and the state of its entries.
///
/// One object per message of up to a few dozen entries; their rows are adjacent bytes.
final class HeldMessage: @unchecked Sendable {
  // Sendable since only the run's thread uses it; other threads only pass it along with entries.

  let message: QueuedMessage
  /// Identifies the host of its entries; invalid URLs have none.
  let host: Int
  /// The number of entries, or their variants, whose results are pending.
  private(set) var openResults = 0
  /// Whether one of them was cancelled; the message is then left to other workers.
  private(set) var isUnfinished = false

  private var rows: [UInt8] = []
  private var results: [[UInt8]] = []
  private var counts = [UInt64](repeating: 0, count: LoadOutcome.allCases.count)
  private var badURLs: [(key: BadURLKey, value: [UInt8])] = []
  private var goodURLs: [BadURLKey] = []

  init(_ message: QueuedMessage) {
    self.message = message
    host = Self.host(of: message)
  }

  /// A hash of the text between the scheme and the path, as written.
  private static func host(of message: QueuedMessage) -> Int {
    var hasher = Hasher()
    if let entry = message.entries.first(where: { $0.state == .good }) {
      let parts = message.bytes[entry.url].split(separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false)
      if parts.count > 2 { hasher.combine(parts[2]) }
    }
    return hasher.finalize()
  }

  /// Returns the entry at `index`, over the message's own text, for a row without a request.
  func entry(_ index: Int, variant: UInt16 = 0) -> Entry {
    let entry = message.entries[index]
    let fields = BatchEntry(
      source: entry.manifest,
      line: entry.line,
      priority: message.priority,
      variant: variant,
      parts: .empty,
      requestRange: 0..<0,
      writtenRange: entry.url
    )
    return Entry(fields, text: message.bytes)
  }

  /// Adds that many pending results.
  func expect(_ count: Int) { openResults += count }

  /// Records that a result won't come here: the message isn't acknowledged, and goes to another worker.
  func cancelOne() {
    openResults -= 1
    isUnfinished = true
  }

  /// Adds a result and its row.
  func take(_ outcome: LoadOutcome, row: UnsafeRawBufferPointer) {
    openResults -= 1
    counts[Int(outcome.rawValue)] += 1
    if rows.count + row.count > Settlement.maximumResultBytes { endPart() }
    rows.append(contentsOf: row)
  }

  /// The number of entries so far by outcome.
  var outcomes: some Sequence<(LoadOutcome, UInt64)> { zip(LoadOutcome.allCases, counts) }

  /// Records that a URL was found to be bad, or good again.
  func note(_ key: BadURLKey, bad value: [UInt8]?) {
    if let value { badURLs.append((key, value)) } else { goodURLs.append(key) }
  }

  private func endPart() {
    if !rows.isEmpty { results.append(rows) }
    rows = []
  }

  /// The settlement, once all results are known.
  func settlement() -> Settlement {
    endPart()
    var settlement = Settlement(of: message, results: results, counts: counts)
    (settlement.badURLs, settlement.goodURLs) = (badURLs, goodURLs)
    return settlement
  }
}
#endif
