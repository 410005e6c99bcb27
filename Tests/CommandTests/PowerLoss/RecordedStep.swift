import TestSupport

/// One operation of a command on its files, as recorded by `recorder.c`.
struct RecordedStep: Sendable {
  enum Kind: UInt8, Sendable {
    case write = 0x77  // w
    case syncedWrite = 0x57  // W
    case sync = 0x73  // s
    case truncate = 0x74  // t
    case rename = 0x72  // r
    case link = 0x6c  // l
    case unlink = 0x75  // u
    case folder = 0x64  // d
    case create = 0x63  // c
  }

  let kind: Kind
  let path: String
  /// The new name, of a rename and a link.
  let second: String
  /// The offset of the bytes, or the new length of the file.
  let offset: Int
  let bytes: ArraySlice<UInt8>

  /// All steps of a record, in order.
  static func all(in record: [UInt8]) -> [RecordedStep] {
    var steps: [RecordedStep] = []
    var position = 0
    func number(_ width: Int) -> Int {
      defer { position += width }
      return record[position..<position + width].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    while position < record.count {
      guard let kind = Kind(rawValue: record[position]) else { fatalError("the record is broken at byte \(position)") }
      position += 1
      let lengths = [number(4), number(4), number(4)]
      let offset = number(8)
      let parts = lengths.map { length in
        defer { position += length }
        return record[position..<position + length]
      }
      let (path, second) = (String(decoding: parts[0], as: UTF8.self), String(decoding: parts[1], as: UTF8.self))
      steps.append(RecordedStep(kind: kind, path: path, second: second, offset: offset, bytes: parts[2]))
    }
    return steps
  }
}
