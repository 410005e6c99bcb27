import ImageCaching
import Threads

/// The look-up of a batch in its own cache, shared by two threads: each takes slices until none is left.
///
/// A look-up in a large index waits for memory most of its time, and two threads wait at once. Nobody depends on the other one: where it is
/// busy or late, the caller takes all slices itself.
final class SharedLookUp: @unchecked Sendable {
  // Sendable because the caller waits in `run(helping:)` until no slice is with the other thread, which takes none from then on, and
  // each slice is looked up by one thread alone.

  /// Requests of one slice, which are looked up in one read transaction.
  private static let sliceCount = 128
  /// Batches below this are looked up by the caller alone: to wake a thread takes as long.
  private static let smallestBatch = 512

  private struct Slices: @unchecked Sendable {
    // Sendable as the whole is: what was found is read after the last slice has ended.
    var next = 0
    var underWay = 0
    var found: [Result<BatchLookUp, CacheError>?]
  }

  private let lookUp: BatchLookUp
  private let indices: [Int]
  private let slices: WaitableState<Slices>

  /// The look-up of `indices`; nil where it is not worth a second thread, or where the outcome may depend on the order.
  init?(_ lookUp: BatchLookUp, _ indices: [Int]) {
    guard indices.count >= Self.smallestBatch, lookUp.context.cache != nil, !lookUp.rules.dependsOnOrder else { return nil }
    self.lookUp = lookUp
    self.indices = indices
    let count = (indices.count + Self.sliceCount - 1) / Self.sliceCount
    slices = WaitableState(Slices(found: Array(repeating: nil, count: count)))
  }

  /// Looks up all, with a thread of `helpers` where one is idle; returns what each slice found, in order.
  func run(helping helpers: CodingThreads) throws(CacheError) -> [BatchLookUp] {
    helpers.helpWhereIdle { self.takeSlices() }
    takeSlices()
    let found = slices.wait { $0.underWay == 0 ? $0.found : nil }
    var lookUps: [BatchLookUp] = []
    for slice in found {
      guard let slice else { preconditionFailure("a slice was left out") }
      lookUps.append(try slice.get())
    }
    return lookUps
  }

  private func takeSlices() {
    while let slice = nextSlice() {
      var own = lookUp
      own.decided = []
      own.decided.reserveCapacity(Self.sliceCount)
      let range = slice * Self.sliceCount..<min((slice + 1) * Self.sliceCount, indices.count)
      let result = Result { () throws(CacheError) in
        try own.lookIntoOwnCache(indices[range])
        return own
      }
      slices.withLock(waking: .all) { slices in
        slices.found[slice] = result
        slices.underWay -= 1
      }
    }
  }

  private func nextSlice() -> Int? {
    slices.withLock(waking: .nobody) { slices in
      guard slices.next < slices.found.count else { return nil }
      defer { slices.next += 1 }
      slices.underWay += 1
      return slices.next
    }
  }
}

extension BatchLookUp {
  /// Looks up `indices` in the own cache, with the help of another thread where that is quicker.
  mutating func lookIntoOwnCache(_ indices: [Int], helping helpers: CodingThreads?) throws(CacheError) {
    guard let helpers, let shared = SharedLookUp(self, indices) else { return try lookIntoOwnCache(indices[...]) }
    for slice in try shared.run(helping: helpers) {
      decided += slice.decided
      undecided += slice.undecided
      staleTouches += slice.staleTouches
      misses += slice.misses
    }
  }
}
