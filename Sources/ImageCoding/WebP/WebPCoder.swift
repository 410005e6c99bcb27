public import ImagePrimitives

/// WebP by libwebp: lossy and lossless, with or without alpha; of an animation, the first frame.
///
/// A file shorter than its RIFF header declares is an error, as is any fault in the bitstream; libwebp knows no warnings.
public struct WebPCoder: ImageCoder {
  /// A coder; all are alike.
  public init() {}

  /// Whether `format` is this one.
  public func canDecode(_ format: ImageFormat) -> Bool { format == .webp }

  /// Reads the RIFF header and the first chunk; of a whole file, all chunks' names.
  public func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    ImageHeader(try WebPHeader(ByteView(prefix), isComplete: isComplete))
  }

  /// Decodes to RGBA; an animation's first frame lies on a transparent canvas.
  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let header = try WebPHeader(ByteView(bytes), isComplete: true)
    try limits.check(header.size)
    let pixels = try PixelBuffer(size: header.size) { pixels throws(ImageError) in
      try WebPPicture.withFirst(in: bytes, of: header) { picture throws(ImageError) in try picture.decode(into: pixels) }
    }
    return DecodedImage(header: ImageHeader(header), pixels: pixels)
  }

  /// Reads the whole bitstream; lossless pictures and alpha still need their size in memory.
  public func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof {
    let header = try WebPHeader(ByteView(bytes), isComplete: true)
    try limits.check(header.size)
    try WebPPicture.withFirst(in: bytes, of: header) { picture throws(ImageError) in try picture.prove() }
    return Proof(header: ImageHeader(header))
  }
}

extension ImageHeader {
  fileprivate init(_ header: WebPHeader) {
    self.init(format: .webp, size: header.size, frames: header.frames, hasAlpha: header.hasAlpha)
  }
}
