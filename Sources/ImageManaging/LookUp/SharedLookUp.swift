import ImageCaching
import Base

/// The look-up of a batch in its own cache, shared by two threads: each takes slices until none is left, and the caller delivers
/// the results. A look-up in a large index mostly waits for memory, and two threads wait at the same time; meanwhile the caller
/// also processes results. The helper is optional: if it is busy or late, the caller takes all slices itself.
final class SharedLookUp: @unchecked Sendable {
  // Sendable because the caller waits in `run(helping:each:)` until the other thread has no slice and takes none from then on, and each
  // slice is looked up by one thread only.

  /// The number of requests per slice, which is one read transaction.
  private static let requestsInSlice = 128
  /// Smaller batches are looked up by the caller alone: waking a thread takes as long.
  private static let smallestBatch = 512

  private struct Slices: @unchecked Sendable {
    // Sendable like the whole: results belong to one thread, and then to the caller.
    var next = 0
    var underWay = 0
    var found: [Result<BatchLookUp, CacheError>?]
  }

  private let batch: BatchLookUp
  private let indices: [Int]
  private let sliceCount: Int
  private let slices: WaitableState<Slices>

  /// Creates the look-up of `indices`; nil if it isn't worth a second thread, or if the outcome may depend on the order.
  init?(_ batch: BatchLookUp, _ indices: [Int]) {
    guard indices.count >= Self.smallestBatch, batch.context.cache != nil, !batch.rules.dependsOnOrder else { return nil }
    self.batch = batch
    self.indices = indices
    sliceCount = (indices.count + Self.requestsInSlice - 1) / Self.requestsInSlice
    slices = WaitableState(Slices(found: Array(repeating: nil, count: sliceCount)))
  }

  /// Looks up all requests, with an idle thread of `helpers` if there is one; calls `each` with the result of each slice, in order,
  /// outside of its read transaction.
  func run(helping helpers: CodingThreads, each: (BatchLookUp) -> Void) throws(CacheError) {
    helpers.helpWhereIdle { while let slice = self.nextSlice() { self.lookUp(slice) } }
    // The slices' bytes are borrowed until this returns.
    defer { stop() }
    for slice in 0..<sliceCount { each(try outcome(of: slice).get()) }
  }

  /// The result of a slice: this thread looks up slices until it is available.
  private func outcome(of slice: Int) -> Result<BatchLookUp, CacheError> {
    while true {
      if let outcome = slices.withLock(waking: .nobody, { $0.found[slice].take() }) { return outcome }
      guard let next = nextSlice() else { return slices.wait { $0.found[slice].take() } }
      lookUp(next)
    }
  }

  private func lookUp(_ slice: Int) {
    var own = batch
    own.decided = DecidedRequests()
    own.decided.reserveCapacity(Self.requestsInSlice)
    let range = slice * Self.requestsInSlice..<min((slice + 1) * Self.requestsInSlice, indices.count)
    let outcome = Result { () throws(CacheError) in
      try own.lookIntoOwnCache(indices[range])
      return own
    }
    slices.withLock(waking: .all) { slices in
      slices.found[slice] = outcome
      slices.underWay -= 1
    }
  }

  private func nextSlice() -> Int? {
    slices.withLock(waking: .nobody) { slices in
      guard slices.next < sliceCount else { return nil }
      defer { slices.next += 1 }
      slices.underWay += 1
      return slices.next
    }
  }

  /// Waits until no thread looks anything up.
  private func stop() {
    slices.withLock(waking: .nobody) { $0.next = sliceCount }
    slices.wait { $0.underWay == 0 ? () : nil }
  }
}
