import ImagePrimitives

/// What decoding a JPEG holds, in bytes, besides the pixels that it ends in.
struct JPEGMemory {
  /// libjpeg's rows, tables, and state.
  let rows: Int
  /// The coefficients of the whole picture, 2 bytes each, which a file of several scans needs until the last one is read.
  let coefficients: Int

  private static let blockSide = 8
  private static let blockBytes = blockSide * blockSide * 2

  init(_ header: JPEGHeader) {
    let widest = max(1, header.components.map(\.horizontal).max() ?? 1)
    let highest = max(1, header.components.map(\.vertical).max() ?? 1)
    // A component's rows of one row of blocks, their neighbours' for smooth upsampling, and what comes out of that.
    rows = (header.size.width + 64) * header.components.count * (3 * Self.blockSide / 2 * highest + 8) + 512 << 10
    coefficients = header.components.reduce(0) { sum, component in
      let columns = Self.blocks(header.size.width, component.horizontal, of: widest)
      let rows = Self.blocks(header.size.height, component.vertical, of: highest)
      return sum + columns * rows * Self.blockBytes
    }
  }

  /// Blocks along one side, padded to whole MCUs (A.2).
  private static func blocks(_ length: Int, _ factor: Int, of largest: Int) -> Int {
    let factor = max(1, factor)
    let blocks = (length * factor + largest * blockSide - 1) / (largest * blockSide)
    return (blocks + factor - 1) / factor * factor
  }
}
