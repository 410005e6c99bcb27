/// Where one row is kept, and where it comes from.
struct SpoolRecord {
  /// Where its text begins, in its own file or in the spool's texts.
  var offset: UInt64
  /// The line on which it begins, from 1.
  var line: UInt64
  /// The index of its file.
  var file: UInt32
  /// The text's length in bytes; it is followed by the problem where there is one.
  private var lengthAndPlace: UInt32

  /// Whether the text lies in the spool, and not in the manifest's own file.
  var isSpooled: Bool { lengthAndPlace & 1 << 31 != 0 }
  /// Whether a problem, as the spool keeps it, follows the text: its length in two bytes, and a sentence.
  var hasProblem: Bool { lengthAndPlace & 1 << 30 != 0 }
  /// Whether both are of one file, and their texts too.
  func isNeighbour(of other: SpoolRecord) -> Bool { file == other.file && isSpooled == other.isSpooled }
  var length: Int { Int(lengthAndPlace & (1 << 30 - 1)) }

  init(offset: UInt64, length: Int, line: UInt64, file: Int, isSpooled: Bool, hasProblem: Bool) {
    self.offset = offset
    self.line = line
    self.file = UInt32(file)
    lengthAndPlace = UInt32(length) | (isSpooled ? 1 << 31 : 0) | (hasProblem ? 1 << 30 : 0)
  }
}
