#if RareFormats
import Base

/// A prefix code as in Brotli (RFC 7932, section 3), with up to 2^15 symbols.
struct JXLPrefixCode {
  /// The number of codes of each length.
  private var counts = [Int](repeating: 0, count: longest + 1)
  /// The symbols in the order of their codes.
  private var sorted: [Int] = []

  static let longest = 15

  init(_ bits: inout JXLBits, symbols: Int) throws(JXLError) {
    guard symbols <= 1 << Self.longest else { throw .invalid("a prefix code has \(symbols) symbols") }
    guard symbols > 1 else {
      self.init(lengths: [1])
      return
    }
    let skipped = try bits.bits(2)
    self.init(lengths: skipped == 1 ? try Self.fewLengths(&bits, symbols: symbols) : try Self.lengths(&bits, symbols, skipped))
  }

  /// Of each symbol the length of its code; 0 if it isn't used.
  private init(lengths: [Int]) {
    for length in lengths { counts[length] += 1 }
    counts[0] = 0
    sorted = lengths.indices.filter { lengths[$0] > 0 }.sorted { (lengths[$0], $0) < (lengths[$1], $1) }
  }

  func symbol(_ bits: inout JXLBits) throws(JXLError) -> Int {
    if sorted.count == 1 { return sorted[0] }
    var (code, first, index) = (0, 0, 0)
    for length in 1...Self.longest {
      code |= try bits.bits(1)
      if code - first < counts[length] { return sorted[index + code - first] }
      index += counts[length]
      first = (first + counts[length]) << 1
      code <<= 1
    }
    throw .invalid("a prefix code is incomplete")
  }

  /// The code lengths of up to four listed symbols.
  private static func fewLengths(_ bits: inout JXLBits, symbols: Int) throws(JXLError) -> [Int] {
    let width = Int.bitWidth - (symbols - 1).leadingZeroBitCount
    var listed: [Int] = []
    for _ in 0...(try bits.bits(2)) { listed.append(try bits.bits(width)) }
    guard listed.allSatisfy({ $0 < symbols }), Set(listed).count == listed.count else {
      throw .invalid("a prefix code lists invalid symbols")
    }
    let lengths =
      switch listed.count {
      case 1: [1]
      case 2: [1, 1]
      case 3: [1, 2, 2]
      default: try bits.bool() ? [1, 2, 3, 3] : [2, 2, 2, 2]
      }
    var all = [Int](repeating: 0, count: symbols)
    for (symbol, length) in zip(listed, lengths) { all[symbol] = length }
    return all
  }

  /// The code lengths of all symbols, which are coded themselves.
  private static func lengths(_ bits: inout JXLBits, _ symbols: Int, _ skipped: Int) throws(JXLError) -> [Int] {
    let code = try lengthCode(&bits, skipped)
    var lengths: [Int] = []
    var (space, previous, repeated, repeatedLength) = (1 << longest, 8, 0, 0)
    while lengths.count < symbols, space > 0 {
      let length = try code.symbol(&bits)
      guard length >= 16 else {
        repeated = 0
        lengths.append(length)
        if length > 0 { (previous, space) = (length, space - 1 << (longest - length)) }
        continue
      }
      let width = length - 14
      let new = length == 16 ? previous : 0
      if new != repeatedLength { (repeated, repeatedLength) = (0, new) }
      let before = repeated
      repeated = (repeated > 0 ? (repeated - 2) << width : 0) + (try bits.bits(width)) + 3
      guard repeated - before <= symbols - lengths.count else { throw .invalid("a prefix code has too many lengths") }
      lengths += Array(repeating: new, count: repeated - before)
      if new > 0 { space -= (repeated - before) << (longest - new) }
    }
    guard space == 0 else { throw .invalid("a prefix code has invalid lengths") }
    return lengths
  }

  private static func lengthCode(_ bits: inout JXLBits, _ skipped: Int) throws(JXLError) -> JXLPrefixCode {
    var lengths = [Int](repeating: 0, count: 18)
    var (space, used) = (32, 0)
    for symbol in [1, 2, 3, 4, 0, 5, 17, 6, 16, 7, 8, 9, 10, 11, 12, 13, 14, 15].dropFirst(skipped) where space > 0 {
      let (length, width) = [(0, 2), (4, 2), (3, 2), (2, 3), (0, 2), (4, 2), (3, 2), (1, 4)][bits.peek(3)]
      // Two codes of four bits share their first three.
      let isFive = length == 1 && bits.peek(4) == 15
      try bits.skip(width)
      lengths[symbol] = isFive ? 5 : length
      if lengths[symbol] > 0 { (space, used) = (space - 32 >> lengths[symbol], used + 1) }
    }
    guard space == 0 || used == 1 else { throw .invalid("a prefix code has invalid lengths") }
    return JXLPrefixCode(lengths: lengths)
  }
}

/// The probabilities of symbols, in 4096ths, for an asymmetric numeral system (ISO/IEC 18181-1, annex C.2).
struct JXLDistribution {
  /// One range of the state's low bits: those below `cutoff` are of its own symbol, the others of another one.
  private struct Bucket {
    var cutoff = 0
    var symbol = 0
    var offset = 0
  }

  private var frequencies: [Int] = []
  private var buckets: [Bucket] = []
  private let bucketLog: Int

  private static let total = 4096

  init(_ bits: inout JXLBits, alphabetLog: Int) throws(JXLError) {
    bucketLog = 12 - alphabetLog
    frequencies = try Self.frequencies(&bits)
    guard frequencies.count <= 1 << alphabetLog else { throw .invalid("a distribution has too many symbols") }
    frequencies += Array(repeating: 0, count: 1 << alphabetLog - frequencies.count)
    makeBuckets()
  }

  /// The symbol of a state, and the next state before bits are added to it.
  func symbol(_ state: Int) -> (symbol: Int, next: Int) {
    let low = state & (Self.total - 1)
    let index = low >> bucketLog
    let position = low & (1 << bucketLog - 1)
    let bucket = buckets[index]
    let isOther = position >= bucket.cutoff
    let symbol = isOther ? bucket.symbol : index
    return (symbol, frequencies[symbol] * (state >> 12) + (isOther ? bucket.offset : 0) + position)
  }

  private static func frequencies(_ bits: inout JXLBits) throws(JXLError) -> [Int] {
    func number(_ bits: inout JXLBits) throws(JXLError) -> Int {
      try bits.bool() ? JXLEntropyDecoder.number(&bits, lengthBits: 3) : 0
    }
    if try bits.bool() {
      let isPair = try bits.bool()
      let first = try number(&bits)
      var result = [Int](repeating: 0, count: 256)
      result[first] = total
      if isPair {
        let second = try number(&bits)
        guard second != first else { throw .invalid("a distribution lists a symbol twice") }
        result[first] = try bits.bits(12)
        result[second] = total - result[first]
      }
      return Array(result[...result.lastIndex { $0 > 0 }!])
    }
    if try bits.bool() {
      let count = try number(&bits) + 1
      return (0..<count).map { total / count + ($0 < total % count ? 1 : 0) }
    }
    var shiftLog = 0
    while shiftLog < 3, try bits.bool() { shiftLog += 1 }
    let shift = 1 << shiftLog + (try bits.bits(shiftLog)) - 1
    guard shift <= 13 else { throw .invalid("a distribution has an invalid precision") }
    return try codedFrequencies(&bits, count: number(&bits) + 3, shift: shift)
  }

  /// Frequencies of which first the logarithms are coded, with runs of equal ones, and then lower bits; the largest is what remains.
  private static func codedFrequencies(_ bits: inout JXLBits, count: Int, shift: Int) throws(JXLError) -> [Int] {
    let run = 13
    var logarithms: [Int] = []
    var runs: [Int: Int] = [:]
    var largest: Int?
    while logarithms.count < count {
      let log = try logarithm(&bits)
      if log == run {
        let length = try (bits.bool() ? JXLEntropyDecoder.number(&bits, lengthBits: 3) : 0) + 4
        runs[logarithms.count] = length
        logarithms += Array(repeating: 0, count: length)
      } else {
        if log > largest.map({ logarithms[$0] }) ?? -1 { largest = logarithms.count }
        logarithms.append(log)
      }
    }
    guard let largest else { throw .invalid("a distribution is empty") }
    var result = [Int](repeating: 0, count: count)
    var index = 0
    while index < count {
      if let length = runs[index] {
        let end = min(count, index + length)
        for place in index..<end { result[place] = index > 0 ? result[index - 1] : 0 }
        index = end
        continue
      }
      let log = logarithms[index]
      if index != largest, log > 0 {
        let width = max(0, min(log - 1, shift - (12 - (log - 1)) >> 1))
        result[index] = 1 << (log - 1) + (try bits.bits(width)) << (log - 1 - width)
      }
      index += 1
    }
    let rest = total - result.reduce(0, +)
    guard rest > 0 else { throw .invalid("a distribution exceeds its total") }
    result[largest] = rest
    return result
  }

  private static func logarithm(_ bits: inout JXLBits) throws(JXLError) -> Int {
    let (value, width) = [
      (10, 3), (0, 0), (7, 3), (3, 4), (6, 3), (8, 3), (9, 3), (5, 4), (10, 3), (4, 4), (7, 3), (1, 4), (6, 3), (8, 3), (9, 3),
      (2, 4),
    ][bits.peek(4)]
    guard width == 0 else {
      try bits.skip(width)
      return value
    }
    try bits.skip(4)
    if try bits.bool() { return 0 }
    if try bits.bool() { return 11 }
    return try bits.bool() ? 13 : 12
  }

  /// Divides the frequencies into buckets of equal size with at most two symbols each (the alias method).
  private mutating func makeBuckets() {
    let size = 1 << bucketLog
    if let only = frequencies.firstIndex(of: Self.total) {
      buckets = frequencies.indices.map { Bucket(cutoff: 0, symbol: only, offset: size * $0) }
      return
    }
    buckets = frequencies.map { Bucket(cutoff: $0) }
    var overfull = frequencies.indices.filter { frequencies[$0] > size }
    var underfull = frequencies.indices.filter { frequencies[$0] < size }
    while let source = overfull.popLast(), let target = underfull.popLast() {
      buckets[source].cutoff -= size - buckets[target].cutoff
      buckets[target].symbol = source
      buckets[target].offset = buckets[source].cutoff
      if buckets[source].cutoff < size { underfull.append(source) }
      if buckets[source].cutoff > size { overfull.append(source) }
    }
    for index in buckets.indices {
      if buckets[index].cutoff == size {
        buckets[index] = Bucket(cutoff: 0, symbol: index, offset: 0)
      } else {
        buckets[index].offset -= buckets[index].cutoff
      }
    }
  }
}
#endif
