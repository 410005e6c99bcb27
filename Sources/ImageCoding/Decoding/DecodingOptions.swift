public import ImagePrimitives

/// What is wanted of a decoded image.
public struct DecodingOptions: Sendable, Hashable {
  /// The box that the image has to fit in as it is shown, keeping its aspect; nil, the default: full size. A smaller image stays as it is.
  public var thumbnail: ImageSize?
  /// How many bytes the pixels of one frame may have, 4 a pixel; a larger image is decoded smaller (SDWebImage's `scaleDownLargeImages`). Nil, the
  /// default: as many as it has.
  public var maximumBytes: Int?
  /// Whether only the first frame of an animation is decoded; false by default.
  public var firstFrameOnly: Bool

  /// Options; each has its default.
  public init(thumbnail: ImageSize? = nil, maximumBytes: Int? = nil, firstFrameOnly: Bool = false) {
    self.thumbnail = thumbnail
    self.maximumBytes = maximumBytes
    self.firstFrameOnly = firstFrameOnly
  }

  /// The size of the decoded pixels of an image that is shown in `size`: at least 1 × 1, at most `size`, its aspect kept to the pixel.
  public func decodedSize(of size: ImageSize) -> ImageSize {
    var scale = 1.0
    if let box = thumbnail, box.width > 0, box.height > 0 {
      scale = min(scale, Double(box.width) / Double(size.width), Double(box.height) / Double(size.height))
    }
    var result = size.scaled(by: scale)
    guard let maximumBytes, result.pixels > max(1, maximumBytes / 4) else { return result }
    scale = (Double(max(1, maximumBytes / 4)) / Double(size.pixels)).squareRoot()
    result = size.scaled(by: scale)
    // Rounding up may pass the limit by a row or a column.
    while result.pixels > max(1, maximumBytes / 4) {
      result =
        result.width >= result.height
        ? ImageSize(width: max(1, result.width - 1), height: result.height)
        : ImageSize(width: result.width, height: max(1, result.height - 1))
    }
    return result
  }
}

extension ImageSize {
  /// Both sides times `scale`, rounded, at least 1.
  func scaled(by scale: Double) -> ImageSize {
    guard scale < 1 else { return self }
    return ImageSize(
      width: max(1, Int((Double(width) * scale).rounded())),
      height: max(1, Int((Double(height) * scale).rounded()))
    )
  }
}
