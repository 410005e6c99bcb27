/// A set of hashes, each of which may be marked, in flat memory that is doubled until it is as large as it may be.
struct HashSet: Sendable {
  enum Insertion: Equatable {
    case new
    /// It was there, and marked or not when it came.
    case known(isMarked: Bool)
    case full
  }

  private let maximumSlots: Int
  /// Hashes, whose lowest bit is the mark; 0 for a free slot.
  private var slots: [UInt64]
  private var used = 0

  init(maximumSlots: Int) {
    self.maximumSlots = maximumSlots
    slots = Array(repeating: 0, count: min(64, maximumSlots))
  }

  var byteCount: Int { slots.capacity * MemoryLayout<UInt64>.stride }

  mutating func insert(_ hash: UInt64, marked: Bool) -> Insertion {
    let hash = hash < 2 ? hash + 2 : hash
    var place = self.place(of: hash)
    if slots[place] != 0 { return .known(isMarked: slots[place] & 1 == 1) }
    if used >= slots.count / 4 * 3 {
      guard slots.count < maximumSlots else { return .full }
      double()
      place = self.place(of: hash)
    }
    used += 1
    slots[place] = marked ? hash | 1 : hash & ~1
    return .new
  }

  /// Where `hash` is, or else belongs.
  private func place(of hash: UInt64) -> Int {
    var place = Int(truncatingIfNeeded: hash >> 1) & (slots.count - 1)
    while slots[place] != 0, slots[place] | 1 != hash | 1 { place = (place + 1) & (slots.count - 1) }
    return place
  }

  private mutating func double() {
    let old = slots
    slots = Array(repeating: 0, count: old.count * 2)
    for hash in old where hash != 0 { slots[place(of: hash)] = hash }
  }
}
