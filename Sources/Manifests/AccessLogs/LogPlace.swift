/// Where a request stands, in one word: what comes in an earlier file, or on an earlier line of the same, is less.
struct LogPlace: Comparable {
  private static let lineBits: UInt64 = 40

  private let packed: UInt64

  /// A line, from 1, of a file by its index; of a log longer than 2^40 lines, the last that can be told.
  init(file: Int, line: UInt64) {
    packed = UInt64(file) << Self.lineBits | min(line, 1 << Self.lineBits - 1)
  }

  var file: Int { Int(packed >> Self.lineBits) }

  var line: UInt64 { packed & (1 << Self.lineBits - 1) }

  static func < (left: LogPlace, right: LogPlace) -> Bool { left.packed < right.packed }
}
