#if Queue
import ImagePrimitives
import ImageURLs
import Reports
import WorkQueues

/// A message that this worker holds, and what has become of its entries so far.
///
/// An object a message, of up to a few dozen entries; their rows are bytes, one after another.
final class HeldMessage: @unchecked Sendable {
  // Sendable because only the run's thread uses it: other threads carry it along with entries, and hand it back.

  let message: QueuedMessage
  /// What tells the host of its entries from others; those that are no good URLs have none.
  let host: Int
  /// Entries, or variants of them, whose results are to come.
  private(set) var openResults = 0
  /// Whether one of them was cancelled: then it is left to others.
  private(set) var isUnfinished = false

  private var rows: [UInt8] = []
  private var results: [[UInt8]] = []
  private var counts = [UInt64](repeating: 0, count: Outcome.allCases.count)
  private var badURLs: [(key: BadURLKey, value: [UInt8])] = []
  private var goodURLs: [BadURLKey] = []

  init(_ message: QueuedMessage) {
    self.message = message
    host = Self.host(of: message)
  }

  /// A hash of what stands between the scheme and the path, as it was written.
  private static func host(of message: QueuedMessage) -> Int {
    var hasher = Hasher()
    if let entry = message.entries.first(where: { $0.state == .good }) {
      let parts = message.bytes[entry.url].split(separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false)
      if parts.count > 2 { hasher.combine(parts[2]) }
    }
    return hasher.finalize()
  }

  /// The entry at `index`, over the message's own text, for a row that no request is made for.
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

  /// That many further results are to come.
  func expect(_ count: Int) { openResults += count }

  /// One of the results is not to come here: the message is not acknowledged, and goes to another worker.
  func cancelOne() {
    openResults -= 1
    isUnfinished = true
  }

  /// One of the results has come, and its row.
  func take(_ outcome: Outcome, row: UnsafeRawBufferPointer) {
    openResults -= 1
    counts[Int(outcome.rawValue)] += 1
    if rows.count + row.count > Settlement.maximumResultBytes { endPart() }
    rows.append(contentsOf: row)
  }

  /// How many entries have ended how so far.
  var outcomes: some Sequence<(Outcome, UInt64)> { zip(Outcome.allCases, counts) }

  /// A URL was found to be bad, or good again.
  func note(_ key: BadURLKey, bad value: [UInt8]?) {
    if let value { badURLs.append((key, value)) } else { goodURLs.append(key) }
  }

  private func endPart() {
    if !rows.isEmpty { results.append(rows) }
    rows = []
  }

  /// What is acknowledged, once all results have come.
  func settlement() -> Settlement {
    endPart()
    var settlement = Settlement(of: message, results: results, counts: counts)
    (settlement.badURLs, settlement.goodURLs) = (badURLs, goodURLs)
    return settlement
  }
}
#endif
