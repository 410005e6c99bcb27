package import ImageURLs

/// Where a run's entries come from, and where they go with their results; called on the run's thread alone.
package protocol PrefetchDelegate: AnyObject {
  /// Appends at most `maximum` entries, or few more if those of one row belong together; the run numbers them in their order.
  ///
  /// If it throws, that ends the reading, not the run: what was read before is finished first.
  func read(_ batch: inout EntryBatch, maximum: Int) throws -> PrefetchSourceState
  /// The context of the batch just read; nil, the default: the run's.
  var batchContext: LoadContext? { get }
  /// A descriptor that can be read when a blocked source has something again.
  var sourceDescriptor: Int32? { get }
  /// An entry that was read has ended; each does once. One that was decided at once borrows the text of its batch.
  func finished(_ entry: Entry, _ completion: LoadCompletion)
  /// Some time has passed, or something has happened: a good moment to show progress.
  func progressed()
}

extension PrefetchDelegate {
  package var batchContext: LoadContext? { nil }
}

/// What a source of entries can say after it was read.
package enum PrefetchSourceState: Sendable {
  /// There may be more.
  case open
  /// There may be more, but not now: a pipe whose writer is slow.
  case blocked
  /// That was all.
  case ended
}
