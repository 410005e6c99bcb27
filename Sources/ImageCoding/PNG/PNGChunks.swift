import CPNG
import ImagePrimitives

/// A chunk of a PNG (PNG specification, third edition, section 5.3), by where it lies in the file.
struct PNGChunk {
  private let file: UnsafeRawBufferPointer
  /// Where its length stands.
  let offset: Int
  /// Its data; it may go on beyond the bytes at hand.
  let data: Range<Int>

  /// The chunk that begins at `offset`; nil where the bytes end before its name does.
  init?(in file: UnsafeRawBufferPointer, at offset: Int) {
    let bytes = ByteView(file)
    guard let length = bytes.bigEndian32(at: offset), bytes.has(4, at: offset + 4) else { return nil }
    self.file = file
    self.offset = offset
    data = offset + 8..<offset + 8 + length
  }

  /// PNG's numbers are below 2³¹ (section 7.1).
  static let largestNumber = 0x7FFF_FFFF

  /// Where it ends, its checksum included.
  var end: Int { data.upperBound + 4 }
  /// Whether all of it is at hand.
  var isComplete: Bool { end <= file.count }
  /// Whether its name is of four letters, and its length one that a chunk may have.
  var isPlausible: Bool {
    data.count <= Self.largestNumber && file[offset + 4..<offset + 8].allSatisfy { (0x41...0x5A).contains($0 & 0xDF) }
  }

  func isNamed(_ name: StaticString) -> Bool { ByteView(file).matches(name, at: offset + 4) }

  /// Its name, which may be any four bytes.
  var name: String { String(decoding: file[offset + 4..<offset + 8], as: UTF8.self) }

  /// The bytes of its data that are at hand.
  var content: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: file[data.lowerBound..<max(data.lowerBound, min(data.upperBound, file.count))])
  }

  /// Its bytes from length to checksum; it has to be complete.
  var whole: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: file[offset..<end]) }

  /// Whether it is complete and its checksum is right.
  var isSound: Bool {
    guard isComplete, let sum = ByteView(file).bigEndian32(at: data.upperBound) else { return false }
    return sum == Int(Self.checksum(of: UnsafeRawBufferPointer(rebasing: file[offset + 4..<data.upperBound])))
  }

  /// CRC-32 of ISO 3309 (annex D).
  static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt32 {
    cpng_checksum(bytes.assumingMemoryBound(to: UInt8.self).baseAddress, bytes.count)
  }
}

/// The chunks of a PNG in their order, as far as they are plausible, up to IEND.
struct PNGChunks: Sequence, IteratorProtocol {
  private let file: UnsafeRawBufferPointer
  /// Where the next one begins.
  private(set) var offset: Int
  private var hasEnded = false

  /// Those of `file` from `offset` on; the first one stands behind the signature's 8 bytes.
  init(_ file: UnsafeRawBufferPointer, from offset: Int = 8) {
    self.file = file
    self.offset = offset
  }

  mutating func next() -> PNGChunk? {
    guard !hasEnded, let chunk = PNGChunk(in: file, at: offset), chunk.isPlausible else { return nil }
    hasEnded = chunk.isNamed("IEND")
    offset = chunk.end
    return chunk
  }
}

/// Chunks whose text or profile is packed, so that a few bytes may become many. Nothing here unpacks them to keep; what reads the
/// file later might.
enum PNGPackedChunks {
  /// What they may unpack to, all together.
  static let mostBytes = 16 << 20

  /// Refuses a file whose chunks unpack to more.
  static func check(_ file: UnsafeRawBufferPointer) throws(ImageError) {
    var left = mostBytes
    for chunk in PNGChunks(file) {
      guard let stream = packedStream(of: chunk) else { continue }
      let count = cpng_unpacked_bytes(stream.assumingMemoryBound(to: UInt8.self).baseAddress, stream.count, left)
      guard count <= left else {
        throw .undecodable("the PNG file's text and profile unpack to more than \(mostBytes) bytes, at its \(chunk.name) chunk")
      }
      left -= count
    }
  }

  /// The zlib stream of iCCP, zTXt and iTXt (PNG specification, third edition, sections 11.3.2.3, 11.3.3.3, 11.3.3.4).
  private static func packedStream(of chunk: PNGChunk) -> UnsafeRawBufferPointer? {
    var rest = chunk.content[...]
    func skipText() { rest = rest.drop { $0 != 0 }.dropFirst() }
    if chunk.isNamed("iCCP") || chunk.isNamed("zTXt") {
      skipText()
      guard rest.popFirst() == 0 else { return nil }
    } else if chunk.isNamed("iTXt") {
      skipText()
      guard rest.popFirst() == 1, rest.popFirst() == 0 else { return nil }
      skipText()
      skipText()
    } else {
      return nil
    }
    return UnsafeRawBufferPointer(rebasing: rest)
  }
}
