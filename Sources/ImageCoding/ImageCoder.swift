public import ImagePrimitives

/// Decodes one or several image formats, and may encode them.
///
/// A coder has no state, so that many threads can use it at once. Bytes are borrowed for the call.
public protocol ImageCoder: Sendable {
  /// Whether this coder decodes `format`.
  func canDecode(_ format: ImageFormat) -> Bool

  /// Whether images have pixels, so that ``decode(_:options:limits:)`` can succeed; true by default.
  var decodesPixels: Bool { get }

  /// Reads the header from the first bytes of a file.
  ///
  /// If `isComplete`, `prefix` is the whole file, and problems that are cheap to detect are reported too: a file shorter than its
  /// container declares, or without its picture. Throws ``ImageError/Kind/needsMoreBytes(minimum:)`` if the header continues beyond
  /// a prefix; 64 KiB are enough for nearly every image.
  func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader

  /// Decodes a complete file to upright pixels, including all frames of an animation unless `options` limit them.
  func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage

  /// Decodes every pixel of every frame without keeping any; has the same result as ``decode(_:options:limits:)`` in less time and
  /// memory.
  func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof

  /// Whether this coder encodes `format`; false by default.
  func canEncode(_ format: ImageFormat) -> Bool

  /// Encodes the image in that format; as an animation if the format and `options` allow it.
  ///
  /// The pixels are upright, and so is the file: it has neither orientation nor profile. If ``canEncode(_:)`` is false for the
  /// format, it throws ``ImageError/Kind/unencodable``.
  func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8]

  /// A decoder for a file that is still arriving; nil, the default, if there is none for `format`.
  func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)?
}

extension ImageCoder {
  /// Decodes a complete file with all frames in full size, with default limits.
  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    limits: DecodingLimits = DecodingLimits()
  ) throws(ImageError) -> DecodedImage {
    try decode(bytes, options: DecodingOptions(), limits: limits)
  }

  public var decodesPixels: Bool { true }

  public func canEncode(_ format: ImageFormat) -> Bool { false }

  /// Throws ``ImageError/Kind/unencodable``.
  public func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    throw notWritten(format)
  }

  func notWritten(_ format: ImageFormat) -> ImageError {
    ImageError(.unencodable, "\(Self.self) can't encode \(format.name) images")
  }

  public func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? { nil }
}

/// Decodes a file as its bytes arrive.
///
/// Calls are sequential, from any threads.
public protocol ProgressiveDecoder: AnyObject, Sendable {
  /// Appends bytes of the file and decodes them as far as possible; throws if they can't be an image of the format or exceed a
  /// limit.
  func append(_ bytes: UnsafeRawBufferPointer) throws(ImageError)

  /// The whole canvas, upright, as far as the bytes so far determine it; each image is better than the previous one. Nil if nothing
  /// would be visible that the previous image lacked.
  func image() throws(ImageError) -> DecodedImage?
}

/// The result of decoding every pixel of a file.
public struct Proof: Sendable, Hashable {
  /// The header of the file.
  public var header: ImageHeader
  /// The library's warnings, one sentence each.
  public var warnings: [String]

  public init(header: ImageHeader, warnings: [String] = []) {
    self.header = header
    self.warnings = warnings
  }
}

/// The available coders. A coder added later has precedence over earlier ones.
public struct ImageCoderRegistry: Sendable, CustomStringConvertible {
  private var coders: [any ImageCoder]

  /// Creates a registry of `coders`, the last of which has precedence.
  public init(_ coders: [any ImageCoder] = []) { self.coders = coders }
  /// JPEG, PNG, WebP, GIF, BMP, ICO and SVG; AVIF with the package's trait `AVIF`; TIFF, HEIC and JPEG XL with its trait `RareFormats`.
  public static let standard: ImageCoderRegistry = {
    var registry = ImageCoderRegistry([
      JPEGCoder(),
      PNGCoder(),
      WebPCoder(),
      GIFCoder(),
      BMPCoder(),
      ICOCoder(),
      SVGCoder(),
    ])
    #if AVIF
    registry.add(AVIFCoder())
    #endif
    #if RareFormats
    registry.add(TIFFCoder())
    registry.add(HEICCoder())
    registry.add(JPEGXLCoder())
    #endif
    return registry
  }()

  /// The last added coder that decodes `format`; nil if there is none.
  public func coder(for format: ImageFormat) -> (any ImageCoder)? {
    coders.last { $0.canDecode(format) }
  }

  /// The last added coder that encodes `format`; nil if there is none.
  public func encoder(for format: ImageFormat) -> (any ImageCoder)? {
    coders.last { $0.canEncode(format) }
  }

  /// The types of the coders, in order of registration.
  public var description: String { coders.map { "\(type(of: $0))" }.joined(separator: " ") }

  /// The value of `Accept` for these coders: formats that servers send only to clients that name them, as far as they can be read, and any
  /// other image.
  public var acceptedTypes: String {
    let modern = [ImageFormat.avif, .webp, .jpegXL, .heic, .svg].filter { coder(for: $0) != nil }.map(\.mediaType)
    return (modern + ["image/*;q=0.8"]).joined(separator: ",")
  }

  /// Adds a coder, which has precedence over all others.
  public mutating func add(_ coder: some ImageCoder) { coders.append(coder) }

  public mutating func remove<Coder: ImageCoder>(_ type: Coder.Type) { coders.removeAll { $0 is Coder } }
}

extension ImageCoderRegistry {
  /// Encodes the image in the given format or in the one that suits it; see ``encodingFormat(for:options:)``.
  ///
  /// The default quality is 100. Throws ``ImageError/Kind/unencodable`` if no coder encodes the format, and the coder's errors.
  public func encode(
    _ image: DecodedImage,
    as format: ImageFormat? = nil,
    options: EncodingOptions = EncodingOptions(quality: 100)
  ) throws(ImageError) -> [UInt8] {
    let format = format ?? encodingFormat(for: image, options: options)
    guard let encoder = encoder(for: format) else {
      throw ImageError(.unencodable, "no registered coder can encode \(format.name) images")
    }
    return try encoder.encode(image, as: format, options: options)
  }

  /// The default format for encoding an image: WebP for an animation; for a still image the format of its file. If no coder encodes
  /// that, it is PNG if a pixel is transparent, and JPEG otherwise.
  ///
  /// It examines the pixels, since many files have an unnecessary alpha channel.
  public func encodingFormat(for image: DecodedImage, options: EncodingOptions = EncodingOptions()) -> ImageFormat {
    if image.animation != nil && !options.firstFrameOnly && encoder(for: .webp) != nil { return .webp }
    if encoder(for: image.header.format) != nil { return image.header.format }
    return image.pixels.isOpaque ? .jpeg : .png
  }
}

extension PixelBuffer {
  /// Whether all pixels are fully opaque.
  var isOpaque: Bool { bytes.withUnsafeBytes { $0.isOpaque } }
}
