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

  /// Lets the other workers know of a URL that is bad, or good again.
  private func share(_ completion: LoadCompletion, _ entry: Entry, of held: HeldMessage) {
    let key = entry.withWrittenURL { BadURLKey(url: $0, variant: Int(entry.variant) - (variants == 0 ? 0 : 1)) }
    if completion.leftBlacklist {
      held.note(key, bad: nil)
    } else if let failure = completion.result.failure {
      held.note(key, bad: SharedFailure(kind: failure.kind, status: failure.status, at: time.wall()).encoded)
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
        // What prewarm writes has no more.
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
      // What others are to do all over is not of this worker's doing; in single entries it is not lost another time.
      if held.message.entries.count > 1, held.outcomes.contains(where: { $0.1 > 0 }) { consumer.divide(held.message) }
      return
    }
    for (outcome, count) in held.outcomes { totals.add(outcome, count) }
    consumer.acknowledge(held.settlement())
  }
}
