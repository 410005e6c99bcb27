package import ImagePrimitives

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
