package import Base

/// Crops images to a rectangle (SDWebImage's `SDImageCroppingTransformer`).
///
/// The rectangle is clipped to the image; one entirely outside throws ``TransformError``. Key: `crop(X,Y,WIDTHxHEIGHT)`.
package struct CroppingTransformer: ImageTransformer {
  package let part: PixelRectangle

  /// Creates a transformer that crops to `part`; traps if it is empty.
  package init(_ part: PixelRectangle) {
    trap(unless: part.width > 0 && part.height > 0, "a crop of \(part.width)x\(part.height) pixels")
    self.part = part
  }

  package var key: String { "crop(\(part.x),\(part.y),\(part.width)x\(part.height))" }
  package var transformsAnimated: Bool { true }
  package func outputSize(of size: ImageSize) -> ImageSize? { part.clipped(to: size)?.size ?? part.size }

  package func transform(_ image: DecodedImage) throws(TransformError) -> DecodedImage {
    let size = image.pixels.size
    guard let part = part.clipped(to: size) else {
      throw TransformError("the crop is outside the image of \(size.width)x\(size.height) pixels")
    }
    return image.mapPixels { $0.cropped(to: part) }
  }
}

/// A rectangle in an image, in pixels from its upper left corner.
package struct PixelRectangle: Sendable, Hashable {
  package var x: Int
  package var y: Int
  package var width: Int
  package var height: Int

  /// Creates a rectangle; traps if width or height is negative.
  package init(x: Int, y: Int, width: Int, height: Int) {
    trap(unless: width >= 0 && height >= 0, "a rectangle of \(width)x\(height) pixels")
    self.x = x
    self.y = y
    self.width = width
    self.height = height
  }

  package init(_ size: ImageSize) { self.init(x: 0, y: 0, width: size.width, height: size.height) }

  package var size: ImageSize { ImageSize(width: width, height: height) }

  /// The part inside an image of `size`; nil if there is none.
  func clipped(to size: ImageSize) -> PixelRectangle? {
    let (right, bottom) = (min(size.width, x.clampedSum(width)), min(size.height, y.clampedSum(height)))
    let (left, top) = (max(0, x), max(0, y))
    guard left < right, top < bottom else { return nil }
    return PixelRectangle(x: left, y: top, width: right - left, height: bottom - top)
  }
}

extension Int {
  fileprivate func clampedSum(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}

extension PixelBuffer {
  /// The pixels of a rectangle inside the image.
  func cropped(to part: PixelRectangle) -> PixelBuffer {
    if part.size == size { return self }
    return bytes.withUnsafeBytes { source in
      PixelBuffer(size: part.size) { y, row in
        let start = ((part.y + y) * size.width + part.x) * 4
        UnsafeMutableRawBufferPointer(row).copyMemory(from: UnsafeRawBufferPointer(rebasing: source[start..<start + row.count]))
      }
    }
  }
}
