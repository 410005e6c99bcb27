#if RareFormats
import Base

/// Decodes entropy-coded numbers (ISO/IEC 18181-1, annex C): the profile and the permutations of sections have no length of their
/// own, so they must be decoded to find the frames after them.
struct JXLEntropyDecoder {
  private var contextMap: [Int] = []
  private var codes: [Code] = []
  private var configs: [IntegerConfig] = []
  /// Nil if distances and lengths aren't used.
  private var repetition: Repetition?
  /// The state of the asymmetric numeral system; nil for prefix codes.
  private var state: Int?
  /// Decoded numbers, if some are repeated.
  private var history: [UInt32] = []
  private var copies: (from: Int, count: Int) = (0, 0)

  private struct Repetition {
    let firstSymbol: Int
    let minimumLength: Int
    let config: IntegerConfig
  }

  private enum Code {
    case prefix(JXLPrefixCode)
    case distribution(JXLDistribution)
  }

  private static let maximumClusters = 256
  private static let finalState = 0x13_0000

  /// Reads the codes for numbers in that many contexts.
  init(_ bits: inout JXLBits, contexts: Int, mayRepeat: Bool = true) throws(JXLError) {
    var contexts = contexts
    if try bits.bool() {
      guard mayRepeat else { throw .invalid("a context map repeats numbers") }
      let symbol = try bits.u32((0, 224), (0, 512), (0, 4096), (15, 8))
      let length = try bits.u32((0, 3), (0, 4), (2, 5), (8, 9))
      repetition = Repetition(firstSymbol: symbol, minimumLength: length, config: try IntegerConfig(&bits, alphabetLog: 8))
      // The last context is that of distances.
      contexts += 1
    }
    contextMap = contexts == 1 ? [0] : try Self.contextMap(&bits, contexts: contexts)
    let clusters = contextMap.max()! + 1
    guard Set(contextMap).count == clusters else { throw .invalid("a context map isn't complete") }
    let usesPrefixCodes = try bits.bool()
    let alphabetLog = usesPrefixCodes ? JXLPrefixCode.longest : try bits.bits(2) + 5
    for _ in 0..<clusters { configs.append(try IntegerConfig(&bits, alphabetLog: alphabetLog)) }
    if usesPrefixCodes {
      var sizes: [Int] = []
      for _ in 0..<clusters { sizes.append(try bits.bool() ? Self.number(&bits, lengthBits: 4) + 1 : 1) }
      for size in sizes { codes.append(.prefix(try JXLPrefixCode(&bits, symbols: size))) }
    } else {
      for _ in 0..<clusters { codes.append(.distribution(try JXLDistribution(&bits, alphabetLog: alphabetLog))) }
      state = try bits.bits(32)
    }
  }

  /// A number of up to 8 or 16 bits after the number of its bits.
  static func number(_ bits: inout JXLBits, lengthBits: Int) throws(JXLError) -> Int {
    let count = try bits.bits(lengthBits)
    return 1 << count + (try bits.bits(count))
  }

  private static func contextMap(_ bits: inout JXLBits, contexts: Int) throws(JXLError) -> [Int] {
    var map: [Int] = []
    if try bits.bool() {
      let width = try bits.bits(2)
      for _ in 0..<contexts { map.append(try bits.bits(width)) }
      return map
    }
    let movesToFront = try bits.bool()
    var decoder = try JXLEntropyDecoder(&bits, contexts: 1, mayRepeat: contexts > 2)
    for _ in 0..<contexts { map.append(try decoder.next(&bits, context: 0)) }
    guard map.allSatisfy({ $0 < maximumClusters }) else { throw .invalid("a context map has too many clusters") }
    try decoder.checkEnd()
    guard movesToFront else { return map }
    var recent = Array(0..<maximumClusters)
    return map.map { index in
      let value = recent.remove(at: index)
      recent.insert(value, at: 0)
      return value
    }
  }

  /// The next number, in that context.
  mutating func next(_ bits: inout JXLBits, context: Int) throws(JXLError) -> Int {
    if copies.count == 0 {
      let cluster = contextMap[context]
      let symbol = try symbol(&bits, cluster)
      guard let repetition else { return try configs[cluster].number(&bits, symbol) }
      if symbol < repetition.firstSymbol {
        let number = try configs[cluster].number(&bits, symbol)
        history.append(UInt32(truncatingIfNeeded: number))
        return number
      }
      let count = try repetition.config.number(&bits, symbol - repetition.firstSymbol) + repetition.minimumLength
      let last = contextMap[contextMap.count - 1]
      let distanceSymbol = try self.symbol(&bits, last)
      let distance = try configs[last].number(&bits, distanceSymbol) + 1
      copies = (max(0, history.count - min(distance, 1 << 20)), count)
    }
    // Before the first number there are zeros.
    let number = copies.from < history.count ? Int(history[copies.from]) : 0
    copies = (copies.from + 1, copies.count - 1)
    history.append(UInt32(truncatingIfNeeded: number))
    return number
  }

  private mutating func symbol(_ bits: inout JXLBits, _ cluster: Int) throws(JXLError) -> Int {
    switch codes[cluster] {
    case .prefix(let code): return try code.symbol(&bits)
    case .distribution(let distribution):
      let (symbol, next) = distribution.symbol(state!)
      state = next < 1 << 16 ? next << 16 | (try bits.bits(16)) : next
      return symbol
    }
  }

  /// Throws unless the last number left the state that the encoder began with.
  func checkEnd() throws(JXLError) {
    guard state ?? Self.finalState == Self.finalState else { throw .invalid("its entropy-coded numbers are corrupt") }
  }

  /// How a symbol and the bits after it make a number (annex C.2.3).
  private struct IntegerConfig {
    private let split: Int
    private let highBits: Int
    private let lowBits: Int

    init(_ bits: inout JXLBits, alphabetLog: Int) throws(JXLError) {
      split = try bits.bits(Self.width(alphabetLog))
      guard split != alphabetLog else {
        (highBits, lowBits) = (0, 0)
        return
      }
      highBits = try bits.bits(Self.width(split))
      guard highBits <= split else { throw .invalid("an integer configuration is invalid") }
      lowBits = try bits.bits(Self.width(split - highBits))
      guard highBits + lowBits <= split else { throw .invalid("an integer configuration is invalid") }
    }

    /// The number of bits of numbers up to `value`.
    private static func width(_ value: Int) -> Int { Int.bitWidth - value.leadingZeroBitCount }

    func number(_ bits: inout JXLBits, _ symbol: Int) throws(JXLError) -> Int {
      guard symbol >= 1 << split else { return symbol }
      let coded = highBits + lowBits
      let count = (split - coded + (symbol - 1 << split) >> coded) & 31
      let high = 1 << highBits | symbol >> lowBits & (1 << highBits - 1)
      return ((high << count | (try bits.bits(count))) << lowBits | symbol & (1 << lowBits - 1)) & 0xFFFF_FFFF
    }
  }
}

extension JXLEntropyDecoder {
  /// Skips a permutation of `count` sections (annex C.3.2).
  static func skipPermutation(_ bits: inout JXLBits, of count: Int) throws(JXLError) {
    func context(_ value: Int) -> Int { min(7, Int.bitWidth - value.leadingZeroBitCount) }
    var decoder = try JXLEntropyDecoder(&bits, contexts: 8)
    let end = try decoder.next(&bits, context: context(count))
    guard end <= count else { throw .invalid("a permutation of sections is too long") }
    var last = 0
    for index in 0..<end {
      last = try decoder.next(&bits, context: context(last))
      guard last < count - index else { throw .invalid("a permutation of sections is invalid") }
    }
    try decoder.checkEnd()
  }

  /// Profiles of printing machines have some megabytes.
  private static let maximumProfileBytes = 8 << 20

  /// Skips the encoded profile (annex E.4); returns the bytes that decoding it takes.
  static func skipProfile(_ bits: inout JXLBits) throws(JXLError) -> Int {
    let length = try bits.u64()
    guard length <= maximumProfileBytes else { throw .invalid("its encoded profile has \(length) bytes") }
    var decoder = try JXLEntropyDecoder(&bits, contexts: 41)
    var (last, beforeLast) = (UInt8(0), UInt8(0))
    var (decodedBytes, isCounted) = (0, false)
    for index in 0..<Int(length) {
      let context = index <= 128 ? 0 : 1 + kind(last) + kindBefore(beforeLast) * 8
      (last, beforeLast) = (UInt8(truncatingIfNeeded: try decoder.next(&bits, context: context)), last)
      // The length of the profile comes first, 7 bits per byte.
      if !isCounted, index < 5 {
        decodedBytes |= Int(last & 127) << (7 * index)
        isCounted = last < 128
      }
    }
    try decoder.checkEnd()
    guard decodedBytes <= maximumProfileBytes else { throw .invalid("its profile has \(decodedBytes) bytes") }
    return decodedBytes + Int(length)
  }

  private static func kind(_ byte: UInt8) -> Int {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): 0
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: ","): 1
    case 0: 2
    case 1: 3
    case 2..<16: 4
    case 241..<255: 5
    case 255: 6
    default: 7
    }
  }

  private static func kindBefore(_ byte: UInt8) -> Int {
    switch kind(byte) {
    case 0: 0
    case 1: 1
    case 2...4: 2
    case 5, 6: 3
    default: 4
    }
  }
}
#endif
