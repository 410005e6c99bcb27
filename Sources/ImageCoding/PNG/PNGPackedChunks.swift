import CPNG
import ImagePrimitives

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
