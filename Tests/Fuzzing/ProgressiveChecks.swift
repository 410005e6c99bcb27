import ImageCoding
import Base

/// Appends a file in pieces: the last image must equal the one decoded at once, except for JPEGs whose coding can't be suspended,
/// or about which the decoder warned.
struct ProgressiveChecks {
  private let coder: any ImageCoder
  private let format: ImageFormat
  private let bytes: UnsafeRawBufferPointer
  private let expected: DecodedImage?
  private let limits: DecodingLimits

  init(
    _ coder: any ImageCoder,
    _ format: ImageFormat,
    _ bytes: UnsafeRawBufferPointer,
    expected: DecodedImage?,
    limits: DecodingLimits
  ) {
    self.coder = coder
    self.format = format
    self.bytes = bytes
    self.expected = expected
    self.limits = limits
  }

  func run() {
    guard let decoder = (coder as? any ProgressiveImageCoder)?.progressiveDecoder(for: format, limits: limits) else { return }
    do throws(ImageError) {
      let last = try append(to: decoder)
      // Only a decoder of the whole file knows where it ends, and how a damaged file continues depends on the available bytes.
      guard let expected, expected.warnings.isEmpty else { return }
      guard let last else { return demand(mayBeArithmetic, "decoded, but not from pieces") }
      demand(last.pixels == expected.pixels, "its pieces yield another image")
    } catch {
      demand(expected == nil || error.isOfLimits, "decoded, but not in pieces: \(error.message)")
    }
  }

  /// Whether the bytes contain the marker of an arithmetically coded JPEG, SOF9 or SOF10.
  private var mayBeArithmetic: Bool {
    format == .jpeg && zip(bytes, bytes.dropFirst()).contains { $0 == 0xFF && ($1 == 0xC9 || $1 == 0xCA) }
  }

  /// Appends all bytes in about ten pieces, whose lengths depend on the file, and returns the last image.
  private func append(to decoder: any ProgressiveDecoder) throws(ImageError) -> DecodedImage? {
    var last: DecodedImage?
    var offset = 0
    var random = UInt64(bytes.count) &* 0x9E37_79B9_7F4A_7C15 | 1
    while offset < bytes.count {
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
      let length = min(bytes.count - offset, 1 + Int(random % UInt64(bytes.count / 5 + 1)))
      try decoder.append(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length]))
      offset += length
      guard let image = try decoder.image() else { continue }
      demand(
        image.pixels.size == image.header.displaySize,
        "a partial image of \(image.pixels.size), displayed as \(image.header.displaySize)"
      )
      last = image
    }
    return last
  }
}
