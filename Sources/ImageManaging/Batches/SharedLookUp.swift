import ImageCaching
import Threads

/// The look-up of a batch in its own cache, shared by two threads: each takes slices until none is left, and the caller hands on
/// what is found.
///
/// A look-up in a large index waits for memory most of its time, and two threads wait at once; what the caller does with the
/// results takes time too, in which the other one goes on. Nobody depends on it: where it is busy or late, the caller takes all
/// slices itself.
final class SharedLookUp: @unchecked Sendable {
  // Sendable because the caller waits in `run(helping:each:)` until no slice is with the other thread, which takes none from then
  // on, and each slice is looked up by one thread alone.

  /// Requests of one slice, which are looked up in one read transaction.
  private static let requestsInSlice = 128
  /// Batches below this are looked up by the caller alone: to wake a thread takes as long.
  private static let smallestBatch = 512

  private struct Slices: @unchecked Sendable {
    // Sendable as the whole is: what was found is one thread's, and then the caller's.
    var next = 0
    var underWay = 0
    var found: [Result<BatchLookUp, CacheError>?]
  }

  private let batch: BatchLookUp
  private let indices: [Int]
  private let sliceCount: Int
  private let slices: WaitableState<Slices>

  /// The look-up of `indices`; nil where it is not worth a second thread, or where the outcome may depend on the order.
  init?(_ batch: BatchLookUp, _ indices: [Int]) {
    guard indices.count >= Self.smallestBatch, batch.context.cache != nil, !batch.rules.dependsOnOrder else { return nil }
    self.batch = batch
    self.indices = indices
    sliceCount = (indices.count + Self.requestsInSlice - 1) / Self.requestsInSlice
    slices = WaitableState(Slices(found: Array(repeating: nil, count: sliceCount)))
  }

  /// Looks up all, with a thread of `helpers` where one is idle; calls `each` with what each slice found, in order, outside of
  /// its read transaction.
  func run(helping helpers: CodingThreads, each: (BatchLookUp) -> Void) throws(CacheError) {
    helpers.helpWhereIdle { while let slice = self.nextSlice() { self.lookUp(slice) } }
    // What the slices read is borrowed until this returns.
    defer { stop() }
    for slice in 0..<sliceCount { each(try outcome(of: slice).get()) }
  }

  /// What a slice found, which this thread looks up, or others until it is there.
  private func outcome(of slice: Int) -> Result<BatchLookUp, CacheError> {
    while true {
      if let outcome = slices.withLock(waking: .nobody, { $0.found[slice].take() }) { return outcome }
      guard let next = nextSlice() else { return slices.wait { $0.found[slice].take() } }
      lookUp(next)
    }
  }

  private func lookUp(_ slice: Int) {
    var own = batch
    own.decided = []
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

  /// Waits until nobody looks anything up any more.
  private func stop() {
    slices.withLock(waking: .nobody) { $0.next = sliceCount }
    slices.wait { $0.underWay == 0 ? () : nil }
  }
}

extension BatchLookUp {
  /// Looks up `indices` in the own cache, with the help of another thread where that is quicker; what is decided then is told at
  /// once.
  mutating func lookIntoOwnCache(
    _ indices: [Int],
    helping helpers: CodingThreads,
    tell: (Int, LoadCompletion) -> Void
  ) throws(CacheError) {
    guard let shared = SharedLookUp(self, indices) else { return try lookIntoOwnCache(indices[...]) }
    try shared.run(helping: helpers) { slice in
      for (index, completion) in slice.decided { tell(index, completion) }
      undecided += slice.undecided
      staleTouches += slice.staleTouches
      misses += slice.misses
    }
  }
}
