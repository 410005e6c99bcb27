public import ImagePrimitives

/// Reads images of one format or a few, and may write them.
///
/// A coder is a value without state of its own: it may be called from many threads at once. Bytes are borrowed for the call.
public protocol ImageCoder: Sendable {
  /// Whether this coder reads `format`.
  func canDecode(_ format: ImageFormat) -> Bool

  /// Reads the header from the first bytes of a file.
  ///
  /// `isComplete` says that `prefix` is the whole file. Then what is cheap to see is seen too: a file shorter than its container
  /// declares, or without its picture. Throws ``ImageError/Kind/needsMoreBytes(minimum:)`` where the header goes on beyond a prefix; 64 KiB
  /// are enough for nearly every image.
  func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader

  /// Decodes a whole file to upright pixels, and an animation's other frames with it unless `options` want the first one alone.
  func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage

  /// Decodes every pixel of every frame of a file and keeps none: ends in the same verdict as ``decode(_:options:limits:)``, sooner and in
  /// less memory.
  func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof

  /// Whether this coder writes `format`; false unless a coder says otherwise.
  func canEncode(_ format: ImageFormat) -> Bool

  /// The bytes of a file of that format with the image's pixels; an animation where the format and `options` allow one.
  ///
  /// The pixels are upright, and so is the file: it has no orientation of its own, and no profile. A format that
  /// ``canEncode(_:)`` denies throws ``ImageError/Kind/unencodable``.
  func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8]

  /// A decoder for a file that is still arriving; nil, unless a coder says otherwise: this coder has none for `format`.
  func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)?
}

extension ImageCoder {
  /// Decodes a whole file, all frames in full size, within the default limits unless others are given.
  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    limits: DecodingLimits = DecodingLimits()
  ) throws(ImageError) -> DecodedImage {
    try decode(bytes, options: DecodingOptions(), limits: limits)
  }

  public func canEncode(_ format: ImageFormat) -> Bool { false }

  /// Throws ``ImageError/Kind/unencodable``.
  public func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    throw notWritten(format)
  }

  func notWritten(_ format: ImageFormat) -> ImageError {
    ImageError(.unencodable, "\(format.name) images are not written by \(Self.self)")
  }

  public func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? { nil }
}

/// Decodes a file while its bytes arrive.
///
/// Its calls come one after another, from whatever threads.
public protocol ProgressiveDecoder: AnyObject, Sendable {
  /// Takes the next bytes of the file and reads what it can; throws where they cannot be an image of the format, or break a limit.
  func append(_ bytes: UnsafeRawBufferPointer) throws(ImageError)

  /// The whole canvas, upright, as far as the bytes until now tell; each image is better than the one before, and none is made where nothing
  /// is to be seen that the last one had not: then it is nil.
  func image() throws(ImageError) -> DecodedImage?
}

/// That every pixel of a file was decoded.
public struct Proof: Sendable, Hashable {
  /// The header as in the file.
  public var header: ImageHeader
  /// What the library found odd, a sentence each.
  public var warnings: [String]

  public init(header: ImageHeader, warnings: [String] = []) {
    self.header = header
    self.warnings = warnings
  }
}

/// The coders at hand, asked in reverse order of registration: a coder added later stands in for the ones before it.
public struct ImageCoderRegistry: Sendable, CustomStringConvertible {
  private var coders: [any ImageCoder]

  /// A registry of `coders`, in order of registration.
  public init(_ coders: [any ImageCoder] = []) { self.coders = coders }

  /// JPEG, PNG, WebP and GIF; and AVIF unless the package is built without its trait `AVIF`.
  public static let standard: ImageCoderRegistry = {
    var registry = ImageCoderRegistry([JPEGCoder(), PNGCoder(), WebPCoder(), GIFCoder()])
    #if AVIF
    registry.add(AVIFCoder())
    #endif
    return registry
  }()

  /// The last added of the coders that read `format`; nil where none does.
  public func coder(for format: ImageFormat) -> (any ImageCoder)? {
    coders.last { $0.canDecode(format) }
  }

  /// The last added of the coders that write `format`; nil where none does.
  public func encoder(for format: ImageFormat) -> (any ImageCoder)? {
    coders.last { $0.canEncode(format) }
  }

  /// The types of the coders, in order of registration.
  public var description: String { coders.map { "\(type(of: $0))" }.joined(separator: " ") }

  /// The value of `Accept` that asks for what these coders read best: AVIF if they do, WebP, and any other image.
  public var acceptedTypes: String {
    let modern = [ImageFormat.avif, .webp].filter { coder(for: $0) != nil }.map(\.mediaType)
    return (modern + ["image/*;q=0.8"]).joined(separator: ",")
  }

  /// Adds a coder, which is asked before all others.
  public mutating func add(_ coder: some ImageCoder) { coders.append(coder) }

  /// Removes all coders of a type.
  public mutating func remove<Coder: ImageCoder>(_ type: Coder.Type) { coders.removeAll { $0 is Coder } }
}

extension ImageCoderRegistry {
  /// The bytes of a file with the image's pixels, in the given format or in the one that suits it; see ``encodingFormat(for:options:)``.
  ///
  /// The quality is 100 unless `options` say otherwise. Throws ``ImageError/Kind/unencodable`` where no coder writes the format, and what the coder
  /// throws.
  public func encode(
    _ image: DecodedImage,
    as format: ImageFormat? = nil,
    options: EncodingOptions = EncodingOptions(quality: 100)
  ) throws(ImageError) -> [UInt8] {
    let format = format ?? encodingFormat(for: image, options: options)
    guard let encoder = encoder(for: format) else {
      throw ImageError(.unencodable, "no coder is registered that writes \(format.name) images")
    }
    return try encoder.encode(image, as: format, options: options)
  }

  /// The format that an image is written in where none is asked for: an animation's is WebP; a still image's that of the file it came from. Where no coder writes
  /// that, it is PNG if a pixel is transparent, and JPEG if none is.
  ///
  /// Looked at are the pixels, since many files have an alpha channel without need.
  public func encodingFormat(for image: DecodedImage, options: EncodingOptions = EncodingOptions()) -> ImageFormat {
    if image.animation != nil && !options.firstFrameOnly && encoder(for: .webp) != nil { return .webp }
    if encoder(for: image.header.format) != nil { return image.header.format }
    return image.pixels.isOpaque ? .jpeg : .png
  }
}

extension PixelBuffer {
  /// Whether no pixel is transparent, not even in part.
  var isOpaque: Bool { bytes.withUnsafeBytes { $0.isOpaque } }
}
