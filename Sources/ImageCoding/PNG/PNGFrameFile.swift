import ImagePrimitives

/// A frame of an animated PNG as a PNG file of its own, since libpng knows no animations: IHDR with the frame's size, the file's
/// PLTE and tRNS, and the content of its fdAT chunks as IDAT.
struct PNGFrameFile {
  private(set) var bytes: [UInt8] = []

  /// The file of `frame`, which is not the still picture; throws where a chunk's checksum is wrong.
  init(_ frame: PNGAnimation.Frame, of file: UnsafeRawBufferPointer) throws(ImageError) {
    bytes.reserveCapacity(frame.data.count + 2048)
    bytes += file[..<8]
    var header = Array(file[16..<29])
    header.replaceSubrange(0..<8, with: Self.bigEndian(frame.size.width) + Self.bigEndian(frame.size.height))
    header.withRawBytes { append("IHDR", $0) }
    for chunk in PNGChunks(file) {
      if chunk.isNamed("IDAT") { break }
      if chunk.isNamed("PLTE") || chunk.isNamed("tRNS") { bytes += chunk.whole }
    }
    let data = UnsafeRawBufferPointer(rebasing: file[..<frame.data.upperBound])
    for chunk in PNGChunks(data, from: frame.data.lowerBound) where chunk.isNamed("fdAT") {
      guard chunk.isSound else {
        throw .undecodable("the PNG file's fdAT chunk at byte \(chunk.offset) has a wrong checksum (CRC)")
      }
      append("IDAT", UnsafeRawBufferPointer(rebasing: chunk.content.dropFirst(4)))
    }
    append("IEND", UnsafeRawBufferPointer(start: nil, count: 0))
  }

  private mutating func append(_ name: StaticString, _ content: UnsafeRawBufferPointer) {
    bytes += Self.bigEndian(content.count)
    let start = bytes.count
    bytes += UnsafeBufferPointer(start: name.utf8Start, count: 4)
    bytes += content
    let sum = bytes.withRawBytes { PNGChunk.checksum(of: UnsafeRawBufferPointer(rebasing: $0[start...])) }
    bytes += Self.bigEndian(Int(sum))
  }

  private static func bigEndian(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt32(number).bigEndian, Array.init)
  }
}
