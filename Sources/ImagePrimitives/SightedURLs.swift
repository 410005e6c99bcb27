/// The text of URLs, one after another, each behind its length.
struct SightedURLs: Sendable {
  /// For the first URLs of all bodies there are so many bytes.
  private static let byteLimit = 6 << 20
  /// For those of bodies that come again there are so many.
  private static let repeatedByteLimit = 8 << 20

  private var bytes: [UInt8] = []

  var byteCount: Int { bytes.capacity }

  /// Keeps a URL; returns where, from 1 on, and 0 where there is no room.
  mutating func append(_ url: UnsafeRawBufferPointer, isRepeated: Bool) -> UInt32 {
    let limit = isRepeated ? Self.repeatedByteLimit : Self.byteLimit
    guard let count = UInt16(exactly: url.count), bytes.count + 2 + url.count <= limit else { return 0 }
    let place = bytes.count + 1
    bytes.append(UInt8(count >> 8))
    bytes.append(UInt8(truncatingIfNeeded: count))
    bytes.append(contentsOf: url)
    return UInt32(place)
  }

  func text(at place: UInt32) -> String? {
    guard place > 0 else { return nil }
    let start = Int(place) + 1
    let count = Int(bytes[start - 2]) << 8 | Int(bytes[start - 1])
    return String(decoding: bytes[start..<start + count], as: UTF8.self)
  }
}
