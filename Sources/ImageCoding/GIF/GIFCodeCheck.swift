/// Follows the codes of a picture (variable-length LZW: GIF89a, appendix F) and counts the pixels they stand for, making none.
///
/// A code stands for a pixel, or for an entry of a table that grows by one with every code: what the code before stood for, and
/// one pixel more. So the lengths of entries are all that has to be kept.
struct GIFCodeCheck {
  /// Pixels until now.
  private(set) var pixels = 0
  /// How many pixels each code of the table stands for.
  private var lengths: [Int32]
  private let clearCode: Int
  /// The code of the next entry; 4,096 in a full table, which grows no more.
  private var next: Int
  /// How many pixels the code before stood for; 0 where there is none since the table was cleared.
  private var lastLength: Int32 = 0

  /// A check of codes that begin with `codeSize` bits for a pixel, 0…8.
  init(codeSize: Int) {
    clearCode = 1 << codeSize
    next = clearCode + 2
    lengths = Array(repeating: 1, count: Self.tableSize)
  }

  /// Takes the next code, other than the one that ends the picture; false where it stands for nothing.
  mutating func append(_ code: Int) -> Bool {
    if code == clearCode {
      next = clearCode + 2
      lastLength = 0
      return true
    }
    if lastLength == 0 {
      guard code < clearCode else { return false }
      lastLength = 1
    } else {
      // The entry that this very code brings may be the one that it stands for.
      guard code <= next, code < Self.tableSize else { return false }
      if next < Self.tableSize {
        lengths[next] = lastLength + 1
        next += 1
      }
      lastLength = lengths[code]
    }
    pixels += Int(lastLength)
    return true
  }

  /// Codes have at most 12 bits.
  private static let tableSize = 1 << 12
}
