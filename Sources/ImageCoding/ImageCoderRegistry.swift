public import ImagePrimitives

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
