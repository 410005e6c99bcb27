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
