public import ImagePrimitives

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
