import CPNG
import Base

/// A chunk of a PNG (PNG specification, third edition, section 5.3), by its position in the file.
struct PNGChunk {
  private let file: UnsafeRawBufferPointer
  /// The offset of its length field.
  let offset: Int
  /// The range of its data, which may extend beyond the available bytes.
  let data: Range<Int>

  /// The chunk at `offset`; nil if the bytes end before its name does.
  init?(in file: UnsafeRawBufferPointer, at offset: Int) {
    let bytes = ByteView(file)
    guard let length = bytes.bigEndian32(at: offset), bytes.has(4, at: offset + 4) else { return nil }
    self.file = file
    self.offset = offset
    data = offset + 8..<offset + 8 + length
  }

  /// PNG's numbers are below 2³¹ (section 7.1).
  static let largestNumber = 0x7FFF_FFFF

  /// The offset after its checksum.
  var end: Int { data.upperBound + 4 }
  /// Whether all of it is available.
  var isComplete: Bool { end <= file.count }
  /// Whether its name consists of four letters and its length is valid.
  var isPlausible: Bool {
    data.count <= Self.largestNumber && file[offset + 4..<offset + 8].allSatisfy { (0x41...0x5A).contains($0 & 0xDF) }
  }

  /// Whether the picture can't be decoded without knowing it (section 5.4).
  var isCritical: Bool { file[offset + 4] & 0x20 == 0 }

  func isNamed(_ name: StaticString) -> Bool { ByteView(file).matches(name, at: offset + 4) }

  /// Its name, which may be any four bytes.
  var name: String { String(decoding: file[offset + 4..<offset + 8], as: UTF8.self) }

  /// The available bytes of its data.
  var content: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: file[data.lowerBound..<max(data.lowerBound, min(data.upperBound, file.count))])
  }

  /// Its bytes from length to checksum; it must be complete.
  var whole: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: file[offset..<end]) }

  /// Whether it is complete and its checksum is correct.
  var isValid: Bool {
    guard isComplete, let sum = ByteView(file).bigEndian32(at: data.upperBound) else { return false }
    return sum == Int(Self.checksum(of: UnsafeRawBufferPointer(rebasing: file[offset + 4..<data.upperBound])))
  }

  /// CRC-32 of ISO 3309 (annex D).
  static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt32 {
    cpng_checksum(bytes.assumingMemoryBound(to: UInt8.self).baseAddress, bytes.count)
  }
}

/// The plausible chunks of a PNG in order, up to IEND.
struct PNGChunks: Sequence, IteratorProtocol {
  private let file: UnsafeRawBufferPointer
  /// The offset of the next chunk.
  private(set) var offset: Int
  private var hasEnded = false

  /// The chunks of `file` from `offset`; by default from the first, after the 8 bytes of the signature.
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

/// Chunks with compressed text or profiles, in which a few bytes may expand to many. This module doesn't decompress them, but later
/// readers of the file might.
enum PNGPackedChunks {
  /// The maximum total size of their decompressed contents.
  static let mostBytes = 16 << 20

  /// Throws if the file's chunks decompress to more.
  static func check(_ file: UnsafeRawBufferPointer) throws(ImageError) {
    var left = mostBytes
    for chunk in PNGChunks(file) {
      guard let stream = packedStream(of: chunk) else { continue }
      let count = cpng_unpacked_bytes(stream.assumingMemoryBound(to: UInt8.self).baseAddress, stream.count, left)
      guard count <= left else {
        throw .undecodable(
          "the PNG file's text and profile decompress to more than \(mostBytes) bytes, at its \(chunk.name) chunk"
        )
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
