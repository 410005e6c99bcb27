import ImageCoding
import Base
import TestSupport
import Testing

/// Sides below 8 pixels have the same length at seven eighths of the size, rounded up, so the scale is visible only in the pixels.
@Suite("JPEGs with few pixels") struct SmallPictureTests {
  private static let sizes = [(1, 1), (3, 5), (7, 7), (1, 7), (7, 200), (200, 7), (8, 8), (9, 3)]
    .map { ImageSize(width: $0.0, height: $0.1) }

  /// A checkerboard: the highest frequency, which any scale below the full one removes.
  private func checkerboard(_ size: ImageSize) -> DecodedImage {
    let pixels = (0..<size.pixels).flatMap { index -> [UInt8] in
      let value: UInt8 = (index % size.width + index / size.width).isMultiple(of: 2) ? 230 : 30
      return [value, value, value, 255]
    }
    return DecodedImage(header: ImageHeader(format: .png, size: size), pixels: PixelBuffer(size: size, bytes: pixels))
  }

  @Test(arguments: sizes) func `a small image is decoded at full scale, whole or progressively`(size: ImageSize) throws {
    let image = checkerboard(size)
    let file = try JPEGCoder().encode(image, as: .jpeg, options: EncodingOptions(quality: 95))
    let back = try Standard.decode(file).pixels
    #expect(back.size == size)
    #expect(back.difference(from: image.pixels).largest <= 12)
    let decoder = try #require(JPEGCoder().progressiveDecoder(for: .jpeg, limits: DecodingLimits()))
    try file.withUnsafeBytes { try decoder.append($0) }
    #expect(try decoder.image()?.pixels == back)
  }
}
