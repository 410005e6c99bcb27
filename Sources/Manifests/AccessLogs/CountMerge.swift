/// Goes over sorted runs as over one: a binary heap of the runs by their next counts.
final class CountMerge {
  enum Order {
    case byText, mostAskedFirst
  }

  private let order: Order
  private var heap: [CountRun] = []
  private var hasBegun = false

  init(_ runs: [CountRun], order: Order) throws(InputFailure) {
    self.order = order
    for run in runs where try run.advance() { heap.append(run) }
    for index in heap.indices.reversed() { siftDown(index) }
  }

  /// The next count, whose text is valid until the next call; nil at the end.
  func next() throws(InputFailure) -> (count: UInt64, place: LogPlace, text: UnsafeRawBufferPointer)? {
    if hasBegun, let first = heap.first {
      if try !first.advance() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
      }
      siftDown(0)
    }
    hasBegun = true
    return heap.first?.current
  }

  private func precedes(_ left: CountRun, _ right: CountRun) -> Bool {
    let (left, right) = (left.current, right.current)
    switch order {
    case .byText: return left.text.isLess(than: right.text)
    case .mostAskedFirst: return left.count != right.count ? left.count > right.count : left.place < right.place
    }
  }

  private func siftDown(_ start: Int) {
    var index = start
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count && precedes(heap[child], heap[least]) { least = child }
      if least == index { return }
      heap.swapAt(index, least)
      index = least
    }
  }
}

/// Sorted runs as one in which each target stands once, with all its counts.
final class SummedCounts {
  private let merge: CountMerge
  private var pending: (count: UInt64, place: LogPlace)?
  private var pendingText = GrowingBytes()
  private var givenText = GrowingBytes()

  /// The sums of a merge by text.
  init(_ merge: CountMerge) { self.merge = merge }

  /// The next target, whose text is valid until the next call; nil at the end.
  func next() throws(InputFailure) -> (count: UInt64, place: LogPlace, text: UnsafeRawBufferPointer)? {
    while let (count, place, text) = try merge.next() {
      if let sum = pending, pendingText.bytes.isEqual(to: text) {
        pending = (sum.count + count, min(sum.place, place))
        continue
      }
      let ended = pending
      swap(&pendingText, &givenText)
      pendingText.removeAll()
      pendingText.append(text)
      pending = (count, place)
      if let ended { return (ended.count, ended.place, givenText.bytes) }
    }
    defer { pending = nil }
    return pending.map { ($0.count, $0.place, pendingText.bytes) }
  }
}
