/// Decoded pixels: 8-bit RGBA, not premultiplied, top row first, rows without padding.
public struct PixelBuffer: Sendable, Equatable {
  /// Width and height in pixels.
  public let size: ImageSize
  /// `size.width * 4` bytes a row, `size.height` rows.
  public var bytes: [UInt8]

  /// A buffer over `bytes`; a count other than `size.width * size.height * 4` is a programmer's error and traps.
  public init(size: ImageSize, bytes: [UInt8]) {
    trap(unless: bytes.count == size.pixels * 4, "a pixel buffer of \(size.width)x\(size.height) needs \(size.pixels * 4) bytes")
    self.size = size
    self.bytes = bytes
  }
}

/// Width and height of an image in pixels.
public struct ImageSize: Sendable, Hashable {
  /// Pixels.
  public var width: Int
  /// Pixels.
  public var height: Int

  /// A size in pixels.
  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// Width × height; `Int.max` where the product overflows.
  public var pixels: Int {
    let (product, overflow) = width.multipliedReportingOverflow(by: height)
    return overflow ? .max : product
  }
}
