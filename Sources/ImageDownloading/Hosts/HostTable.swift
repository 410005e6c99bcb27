/// The numbers of hosts with downloads, and of some without downloads whose state is worth keeping; free numbers are reused.
struct HostTable {
  /// The maximum number of hosts kept without downloads; beyond it, the one kept longest is forgotten.
  private let maximumKept: Int

  private struct Entry {
    var origin: URLOrigin?
    var uses = 0
    /// Distinguishes uses of one number.
    var keeping: UInt64 = 0
  }

  private var numbers: [URLOrigin: Int] = [:]
  private var entries: [Entry] = []
  private var free: [Int] = []
  /// The kept hosts, in order from `firstKept` on, as a ring buffer; some are in use again.
  private var kept: [(number: Int, keeping: UInt64)] = []
  private var firstKept = 0
  private var lastKeeping: UInt64 = 0

  init(maximumKept: Int = 4096) { self.maximumKept = maximumKept }

  /// Returns the number of a host; each call needs one of ``release(_:)``. `begin` gets a number that is given to a host.
  mutating func retain(_ origin: URLOrigin, _ begin: (Int) -> Void = { _ in }) -> Int {
    if let number = numbers[origin] {
      entries[number].uses += 1
      entries[number].keeping = 0
      return number
    }
    let origin = URLOrigin(copying: origin)
    let number = free.popLast() ?? entries.count
    if number == entries.count { entries.append(Entry()) }
    entries[number] = Entry(origin: origin, uses: 1)
    numbers[origin] = number
    begin(number)
    return number
  }

  /// The host of a number; nil if it is free.
  func known(_ number: Int) -> URLOrigin? { number < entries.count ? entries[number].origin : nil }

  /// The host of a number that is retained or kept.
  func origin(_ number: Int) -> URLOrigin {
    guard let origin = known(number) else { preconditionFailure("\(number) isn't the number of a host") }
    return origin
  }

  /// Releases a number; returns true if that was the last use: then it has to be kept or forgotten.
  mutating func release(_ number: Int) -> Bool {
    entries[number].uses -= 1
    return entries[number].uses == 0
  }

  /// Frees the number of an unused host.
  mutating func forget(_ number: Int) {
    guard let origin = entries[number].origin.take() else { return }
    numbers[origin] = nil
    entries[number].keeping = 0
    free.append(number)
  }

  /// Keeps an unused host; returns the host that has to be forgotten instead, if any.
  mutating func keep(_ number: Int) -> Int? {
    lastKeeping += 1
    entries[number].keeping = lastKeeping
    guard kept.count == maximumKept else {
      kept.append((number, lastKeeping))
      return nil
    }
    let oldest = kept[firstKept]
    kept[firstKept] = (number, lastKeeping)
    firstKept = (firstKept + 1) % maximumKept
    guard entries[oldest.number].keeping == oldest.keeping else { return nil }
    return oldest.number
  }
}
