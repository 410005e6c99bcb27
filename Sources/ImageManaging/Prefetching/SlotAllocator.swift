/// Gives out the lowest numbers that are free, so that whoever keeps something a number needs a short array.
struct SlotAllocator {
  private var free: [Int] = []
  private var count = 0

  mutating func take() -> Int {
    if let slot = free.popLast() { return slot }
    count += 1
    return count - 1
  }

  mutating func release(_ slot: Int) { free.append(slot) }
}
