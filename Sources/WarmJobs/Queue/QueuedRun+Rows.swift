import ImageManaging
import ImagePrimitives
import ImageURLs
import Reports
import WorkQueues

/// What becomes of entries, and the rows that tell it.
extension QueuedRun {
  /// The end of an entry that is not asked for; of all its variants where `count` does not say otherwise.
  func fail(_ kind: FailureKind, _ message: String, _ index: Int, _ held: HeldMessage, variants count: Int? = nil) {
    let details = EntryResult.Details(failure: Failure(kind, message: message))
    let isPlain = count != nil || variants == 0
    for variant in isPlain ? 0...0 : 1...UInt16(variants) {
      held.expect(1)
      take(EntryResult(.failed, details: details), PendingRow(held: held, entry: UInt16(index), variant: variant))
    }
  }

  func finish(_ row: PendingRow, _ completion: LoadCompletion) {
    let held = row.held
    line.change(held.host, by: -1)
    if completion.result.outcome == .cancelled {
      held.cancelOne()
    } else {
      var remarks = DetailedRows.Remarks()
      remarks.joinedBlacklist = completion.joinedBlacklist
      remarks.leftBlacklist = completion.leftBlacklist
      if remarks.joinedBlacklist || remarks.leftBlacklist { share(completion, row) }
      take(completion.result, row, remarks)
    }
    settleIfDone(held)
  }

  /// Lets the other workers know of a URL that is bad, or good again.
  private func share(_ completion: LoadCompletion, _ row: PendingRow) {
    let message = row.held.message
    let key = message.bytes.withUnsafeBytes { bytes in
      let url = UnsafeRawBufferPointer(rebasing: bytes[message.entries[Int(row.entry)].url])
      return BadURLKey(url: url, variant: Int(row.variant) - (variants == 0 ? 0 : 1))
    }
    if completion.leftBlacklist {
      row.held.note(key, bad: nil)
    } else if let failure = completion.result.failure {
      row.held.note(key, bad: SharedFailure(kind: failure.kind, status: failure.status, at: time.wall()).encoded)
    }
  }

  func take(_ result: EntryResult, _ row: PendingRow, _ remarks: DetailedRows.Remarks = DetailedRows.Remarks()) {
    if !result.isShared { receivedBytes += result.receivedBytes }
    let message = row.held.message
    let entry = message.entries[Int(row.entry)]
    rows.removeAll()
    message.bytes.withUnsafeBytes { bytes in
      let written = UnsafeRawBufferPointer(rebasing: bytes[entry.url])
      if holdsCredentials(written) {
        maskingCredentials(written).withUnsafeBytes { append(result, entry, url: $0, row, remarks) }
      } else {
        append(result, entry, url: written, row, remarks)
      }
    }
    rows.withUnsafeBytes { row.held.take(result.outcome, row: $0) }
  }

  private func append(
    _ result: EntryResult,
    _ entry: QueuedEntry,
    url: UnsafeRawBufferPointer,
    _ row: PendingRow,
    _ remarks: DetailedRows.Remarks
  ) {
    let reported = ReportedEntry(
      url: url,
      // What prewarm writes has no more.
      manifest: min(Int(entry.manifest), DetailedRows.maximumManifests - 1),
      line: entry.line,
      priority: row.held.message.priority,
      host: UnsafeRawBufferPointer(start: nil, count: 0),
      variant: Int(row.variant)
    )
    rows.append(result, of: reported, remarks)
  }

  func settleIfDone(_ held: HeldMessage) {
    guard held.openResults == 0 else { return }
    heldEntries -= held.message.entries.count
    lookAhead.finish(held.message.entries.count)
    guard !held.isUnfinished else {
      // What others are to do all over is not of this worker's doing; in single entries it is not lost another time.
      if held.message.entries.count > 1, held.outcomes.contains(where: { $0.1 > 0 }) { consumer.divide(held.message) }
      return
    }
    for (outcome, count) in held.outcomes { totals.add(outcome, count) }
    consumer.acknowledge(held.settlement())
  }
}
