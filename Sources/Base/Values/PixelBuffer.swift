/// Decoded pixels: 8-bit RGBA, not premultiplied, top row first, rows without padding.
public struct PixelBuffer: Sendable, Equatable {
  public let size: ImageSize
  /// `size.height` rows of `size.width * 4` bytes each.
  public var bytes: [UInt8]

  /// Creates a buffer over `bytes`; traps if their count isn't `size.width * size.height * 4`.
  public init(size: ImageSize, bytes: [UInt8]) {
    trap(unless: bytes.count == size.pixels * 4, "a pixel buffer of \(size.width)x\(size.height) needs \(size.pixels * 4) bytes")
    self.size = size
    self.bytes = bytes
  }
}

/// Width and height of an image in pixels.
public struct ImageSize: Sendable, Hashable {
  public var width: Int
  public var height: Int

  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// Width × height; `Int.max` if the product overflows.
  public var pixels: Int {
    let (product, overflow) = width.multipliedReportingOverflow(by: height)
    return overflow ? .max : product
  }
}
