public import Base

/// Options for decoding an image.
public struct DecodingOptions: Sendable, Hashable {
  /// The box that the displayed image must fit in, keeping its aspect ratio; nil, the default: full size. Images are never
  /// enlarged.
  public var thumbnail: ImageSize?
  /// The maximum size of one frame's pixels in bytes, at 4 per pixel; larger images are decoded smaller (SDWebImage's
  /// `scaleDownLargeImages`). Nil, the default: unlimited.
  public var maximumBytes: Int?
  /// Whether to decode only the first frame of an animation; false by default.
  public var firstFrameOnly: Bool

  public init(thumbnail: ImageSize? = nil, maximumBytes: Int? = nil, firstFrameOnly: Bool = false) {
    self.thumbnail = thumbnail
    self.maximumBytes = maximumBytes
    self.firstFrameOnly = firstFrameOnly
  }

  /// The size of the decoded pixels of an image with the display size `size`: at least 1 × 1, at most `size`, with its aspect ratio
  /// to the pixel.
  public func decodedSize(of size: ImageSize) -> ImageSize {
    var scale = 1.0
    if let box = thumbnail, box.width > 0, box.height > 0 {
      scale = min(scale, Double(box.width) / Double(size.width), Double(box.height) / Double(size.height))
    }
    var result = size.scaled(by: scale)
    let pixels = maximumBytes.map { max(1, $0 / 4) } ?? .max
    guard result.pixels > pixels else { return result }
    result = size.scaled(by: (Double(pixels) / Double(size.pixels)).squareRoot())
    // Rounding up may exceed the limit by a row or column.
    while result.pixels > pixels {
      let isWide = result.width >= result.height
      result = ImageSize(width: max(1, result.width - (isWide ? 1 : 0)), height: max(1, result.height - (isWide ? 0 : 1)))
    }
    return result
  }
}

extension ImageSize {
  func scaled(by scale: Double) -> ImageSize {
    guard scale < 1 else { return self }
    return ImageSize(
      width: max(1, Int((Double(width) * scale).rounded())),
      height: max(1, Int((Double(height) * scale).rounded()))
    )
  }
}

/// Options for encoding an image.
public struct EncodingOptions: Sendable, Hashable {
  /// The quality of JPEG and lossy WebP, 1…100; 85 by default. PNG ignores it. Other values trap.
  public var quality: Int
  /// Whether WebP is lossless; false by default. PNG always is, JPEG never.
  public var isLossless: Bool
  /// The maximum size of the file in bytes; nil, the default: unlimited. The quality is lowered until it fits; if it never does,
  /// encoding throws ``ImageError/Kind/unencodable``.
  public var maximumBytes: Int?
  /// The box that the image must fit in, keeping its aspect ratio; nil, the default: its own size. Images are never enlarged.
  public var maximumSize: ImageSize?
  /// Whether to write only the first frame of an animation; false by default. Formats without animation always do.
  public var firstFrameOnly: Bool

  public init(
    quality: Int = 85,
    isLossless: Bool = false,
    maximumBytes: Int? = nil,
    maximumSize: ImageSize? = nil,
    firstFrameOnly: Bool = false
  ) {
    trap(unless: (1...100).contains(quality), "a quality of \(quality); use 1 to 100")
    self.quality = quality
    self.isLossless = isLossless
    self.maximumBytes = maximumBytes
    self.maximumSize = maximumSize
    self.firstFrameOnly = firstFrameOnly
  }
}

extension EncodingOptions {
  /// The file that `encode` returns at the highest quality up to ``quality`` with which it has at most ``maximumBytes``, or nil if it
  /// would have more; throws if it is too large even at the lowest.
  ///
  /// It assumes that higher quality means a larger file, as is nearly always true, so 8 attempts are enough.
  func fitting(_ encode: (_ quality: Int) throws(ImageError) -> [UInt8]?) throws(ImageError) -> [UInt8] {
    var best, smallest: [UInt8]?
    var (lowest, highest, attempt) = (1, quality, quality)
    while lowest <= highest {
      let file = try encode(attempt)
      if let file, file.count <= maximumBytes ?? .max {
        best = file
        lowest = attempt + 1
      } else {
        smallest = [smallest, file].compactMap(\.self).min { $0.count < $1.count }
        highest = attempt - 1
      }
      attempt = (lowest + highest) / 2
    }
    if let best { return best }
    guard let smallest else { throw tooLarge("as JPEG at the lowest quality") }
    throw ImageError(
      .unencodable,
      "the image has \(smallest.count) bytes at the lowest quality, but at most \(maximumBytes ?? .max) are allowed"
    )
  }

  /// The file that `encode` returns without loss, for the quality nil, if ``isLossless``; otherwise as ``fitting(_:)``.
  func fittingOrLossless(_ encode: (_ quality: Int?) throws(ImageError) -> [UInt8]) throws(ImageError) -> [UInt8] {
    guard isLossless else { return try fitting { quality throws(ImageError) in try encode(quality) } }
    let bytes = try encode(nil)
    guard let allowed = maximumBytes, bytes.count > allowed else { return bytes }
    throw ImageError(.unencodable, "the lossless image has \(bytes.count) bytes, but at most \(allowed) are allowed")
  }

  /// The size of an image as it will be written; throws if the format has no such sides.
  func size(of pixels: PixelBuffer, as format: ImageFormat, _ name: String) throws(ImageError) -> ImageSize {
    let size = DecodingOptions(thumbnail: maximumSize).decodedSize(of: pixels.size)
    guard let longest = format.longestWrittenSide, max(size.width, size.height) > longest else { return size }
    let sides = "\(name)'s sides have at most \(longest)"
    throw ImageError(.unencodable, "the image is \(size.width) x \(size.height) pixels, but \(sides)")
  }

  /// The error for a file that exceeds ``maximumBytes``.
  func tooLarge(_ what: String) -> ImageError {
    ImageError(.unencodable, "the image has more than \(maximumBytes ?? .max) bytes \(what)")
  }
}

extension ImageFormat {
  /// The maximum length of a side of files that prewarm writes, in pixels; nil if no image reaches it.
  package var longestWrittenSide: Int? {
    switch self {
    // JPEG_MAX_DIMENSION of libjpeg-turbo.
    case .jpeg: 65_500
    // Side lengths have 14 bits in the bitstream (RFC 9649, section 2.6).
    case .webp: 16_383
    // Side lengths have 16 bits in the sequence header (AV1 specification, section 5.5.1).
    case .avif: 65_536
    default: nil
    }
  }
}

extension PixelBuffer {
  /// The image as it will be written, reduced to the box of the options.
  func fitting(_ options: EncodingOptions) -> PixelBuffer {
    reduced(to: DecodingOptions(thumbnail: options.maximumSize).decodedSize(of: size))
  }
}
