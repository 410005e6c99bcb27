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

/// How an image is written.
public struct EncodingOptions: Sendable, Hashable {
  /// The quality of JPEG and lossy WebP, 1…100; 85 by default. PNG has none. A value outside is a programmer's error and traps.
  public var quality: Int
  /// Whether WebP is written without loss; false by default. PNG always is, JPEG never.
  public var isLossless: Bool
  /// Bytes of the file at most; nil, the default: as many as it takes. The quality is lowered until it fits; what never does throws
  /// ``ImageError/Kind/unencodable``.
  public var maximumBytes: Int?
  /// The box that the image has to fit in, keeping its aspect; nil, the default: its own size. It is never enlarged.
  public var maximumSize: ImageSize?
  /// Whether only the first frame of an animation is written; false by default. Formats without animation always write that one alone.
  public var firstFrameOnly: Bool

  /// Options; each has its default.
  public init(
    quality: Int = 85,
    isLossless: Bool = false,
    maximumBytes: Int? = nil,
    maximumSize: ImageSize? = nil,
    firstFrameOnly: Bool = false
  ) {
    trap(unless: (1...100).contains(quality), "a quality of \(quality); it goes from 1 to 100")
    self.quality = quality
    self.isLossless = isLossless
    self.maximumBytes = maximumBytes
    self.maximumSize = maximumSize
    self.firstFrameOnly = firstFrameOnly
  }
}

extension EncodingOptions {
  /// The file that `encode` makes at the best quality up to ``quality`` at which it is no larger than ``maximumBytes``; what is
  /// too large even at the lowest cannot be written.
  ///
  /// A larger quality is taken to give a larger file, as it nearly always does, so that 8 attempts are enough.
  func fitting(_ encode: (_ quality: Int) throws(ImageError) -> [UInt8]) throws(ImageError) -> [UInt8] {
    let wanted = try encode(quality)
    guard let maximumBytes, wanted.count > maximumBytes else { return wanted }
    var best: [UInt8]?
    var smallest = wanted.count
    var range = 1..<quality
    while !range.isEmpty {
      let middle = (range.lowerBound + range.upperBound) / 2
      let attempt = try encode(middle)
      smallest = min(smallest, attempt.count)
      if attempt.count <= maximumBytes {
        best = attempt
        range = middle + 1..<range.upperBound
      } else {
        range = range.lowerBound..<middle
      }
    }
    if let best { return best }
    throw ImageError(.unencodable, "the image takes \(smallest) bytes at the lowest quality, and \(maximumBytes) are allowed")
  }
}

extension ImageFormat {
  /// Pixels of the longest side that a file which we write can have; nil where no image gets there.
  package var longestWrittenSide: Int? {
    switch self {
    // JPEG_MAX_DIMENSION of libjpeg-turbo.
    case .jpeg: 65_500
    // Sides have 14 bits in a bitstream (RFC 9649, section 2.6).
    case .webp: 16_383
    default: nil
    }
  }
}

extension PixelBuffer {
  /// The image as it is to be written: reduced to the box that the options ask for.
  func fitting(_ options: EncodingOptions) -> PixelBuffer {
    reduced(to: DecodingOptions(thumbnail: options.maximumSize).decodedSize(of: size))
  }
}

extension EncodingOptions {
  /// That a file takes more bytes than it may.
  func tooLarge(_ what: String) -> ImageError {
    ImageError(.unencodable, "the image takes more than \(maximumBytes ?? .max) bytes \(what)")
  }
}
