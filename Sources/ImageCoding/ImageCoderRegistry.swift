#if LoadedFormats
import CAVIF
import CHEIF
#endif
public import Base

/// Decodes and encodes images with the available coders. A coder added later has precedence over earlier ones.
public struct ImageCoderRegistry: Sendable, CustomStringConvertible {
  private struct Entry {
    var coder: any ImageCoder
    /// Its type before ``isolated(by:)``.
    let type: any ImageCoder.Type
    /// The formats for which the coder isn't used any more.
    var removed: Set<ImageFormat> = []

    init(_ coder: any ImageCoder) { (self.coder, type) = (coder, Swift.type(of: coder)) }
  }

  private var entries: [Entry]

  /// Creates a registry of `coders`, the last of which has precedence.
  public init(_ coders: [any ImageCoder] = []) { entries = coders.map { Entry($0) } }
  /// JPEG, PNG, WebP, GIF, BMP, ICO and SVG, and with the package's trait `LoadedFormats` also AVIF, TIFF, HEIC and JPEG XL.
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
    #if LoadedFormats
    registry.add(AVIFCoder())
    registry.add(TIFFCoder())
    registry.add(HEICCoder())
    registry.add(JPEGXLCoder())
    #endif
    return registry
  }()

  /// The last added coder that decodes `format`; nil if there is none.
  public func coder(for format: ImageFormat) -> (any ImageCoder)? {
    entries.last { $0.coder.canDecode(format) && !$0.removed.contains(format) }?.coder
  }

  /// Why images of that format can't be decoded here; nil if they can. Loads the library of a rare format.
  package func whyUnavailable(_ format: ImageFormat) -> String? {
    guard coder(for: format) != nil else { return "no coder decodes it" }
    do throws(ImageError) {
      switch format {
      #if LoadedFormats
      case .avif: _ = try CAVIFFunctions.loaded()
      case .heic: _ = try CHEIFFunctions.loaded()
      case .tiff: try TIFFReader.requireLibrary()
      case .jpegXL: _ = try JXLDecoder.library()
      #endif
      default: break
      }
    } catch {
      return error.message
    }
    return nil
  }

  /// A decoder of that coder for a file that is still arriving; nil if there is none.
  package func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? {
    (coder(for: format) as? any ProgressiveImageCoder)?.progressiveDecoder(for: format, limits: limits)
  }

  /// The picture of the beginning of a file of that format; nil if it shows nothing, or the format is only decoded whole.
  package func picture(
    ofPart bytes: UnsafeRawBufferPointer,
    _ format: ImageFormat,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage? {
    try (coder(for: format) as? any ProgressiveImageCoder)?.picture(ofPart: bytes, format, limits: limits)
  }

  /// The last added coder that encodes `format`; nil if there is none.
  public func encoder(for format: ImageFormat) -> (any ImageCoder)? {
    entries.last { $0.coder.canEncode(format) && !$0.removed.contains(format) }?.coder
  }

  /// The types of the coders, in order of registration, each with the formats that were removed.
  public var description: String {
    entries.map { entry in
      ["\(entry.type)"] + entry.removed.map(\.name).sorted()
    }.map { $0.joined(separator: "-") }.joined(separator: " ")
  }

  /// The value of `Accept` for these coders: formats that servers send only to clients that name them, as far as they can be read, and any
  /// other image.
  public var acceptedTypes: String {
    let modern = [ImageFormat.avif, .webp, .jpegXL, .heic, .svg].filter { coder(for: $0) != nil }.map(\.mediaType)
    return (modern + ["image/*;q=0.8"]).joined(separator: ",")
  }

  /// Adds a coder, which has precedence over all others.
  public mutating func add(_ coder: some ImageCoder) { entries.append(Entry(coder)) }

  /// Removes the support for a format: no coder decodes or encodes it, until one is added that does.
  public mutating func remove(_ format: ImageFormat) {
    for index in entries.indices { entries[index].removed.insert(format) }
  }
}

// The bytes of a file may be any collection, such as `[UInt8]`, `ArraySlice<UInt8>` or Foundation's `Data`, or a `RawSpan`. They are read
// in place if they are contiguous, and copied otherwise.
extension ImageCoderRegistry {
  /// The header of an image, whose format is detected.
  ///
  /// If `isComplete`, the default, `bytes` are the whole file; otherwise they may be its beginning. Throws
  /// ``ImageError/Kind/needsMoreBytes(minimum:)`` if the header continues beyond a beginning; 64 KiB are enough for nearly every image.
  public func header(of bytes: some Collection<UInt8>, isComplete: Bool = true) throws(ImageError) -> ImageHeader {
    try bytes.withRawBytes { bytes throws(ImageError) in
      try coder(of: bytes, isComplete: isComplete).header(of: bytes, isComplete: isComplete)
    }
  }

  /// Decodes a complete file, whose format is detected, to upright pixels, including all frames of an animation unless `options` limit
  /// them.
  ///
  /// It blocks the calling thread. The default limits share ``DecodingBudget/standard`` with other decoders, so it may wait until they have
  /// released memory. Throws ``ImageError/Kind/notAnImage`` if the format is unknown, ``ImageError/Kind/unavailable`` if no coder decodes
  /// it, and the coder's errors.
  public func decode(
    _ bytes: some Collection<UInt8>,
    options: DecodingOptions = DecodingOptions(),
    limits: DecodingLimits = DecodingLimits(budget: .standard)
  ) throws(ImageError) -> DecodedImage {
    try bytes.withRawBytes { bytes throws(ImageError) in
      try coder(of: bytes).decode(bytes, options: options, limits: limits)
    }
  }

  /// Decodes every pixel of a complete file without keeping any, in less time and memory than `decode`; throws the same errors.
  ///
  /// An SVG, which has no pixels, is parsed.
  public func proveDecodable(
    _ bytes: some Collection<UInt8>,
    limits: DecodingLimits = DecodingLimits(budget: .standard)
  ) throws(ImageError) -> ImageProof {
    try bytes.withRawBytes { bytes throws(ImageError) in
      try coder(of: bytes).proveDecodable(bytes, limits: limits)
    }
  }

  /// The header of an image in a span.
  public func header(of bytes: RawSpan, isComplete: Bool = true) throws(ImageError) -> ImageHeader {
    try bytes.withUnsafeBytes { bytes throws(ImageError) in try header(of: bytes, isComplete: isComplete) }
  }

  /// Decodes a complete file in a span.
  public func decode(
    _ bytes: RawSpan,
    options: DecodingOptions = DecodingOptions(),
    limits: DecodingLimits = DecodingLimits(budget: .standard)
  ) throws(ImageError) -> DecodedImage {
    try bytes.withUnsafeBytes { bytes throws(ImageError) in try decode(bytes, options: options, limits: limits) }
  }

  /// Decodes every pixel of a complete file in a span without keeping any.
  public func proveDecodable(
    _ bytes: RawSpan,
    limits: DecodingLimits = DecodingLimits(budget: .standard)
  ) throws(ImageError) -> ImageProof {
    try bytes.withUnsafeBytes { bytes throws(ImageError) in try proveDecodable(bytes, limits: limits) }
  }

  private func coder(of bytes: UnsafeRawBufferPointer, isComplete: Bool = true) throws(ImageError) -> any ImageCoder {
    let content = ContentSniff(prefix: bytes)
    guard case .image(let format) = content else {
      let isUndecided = [.empty, .text, .json, .unknown].contains(content)
      let needed = ContentSniff.bytesNeeded(after: bytes) ?? (isUndecided ? ImageFormat.prefixLength : 0)
      if !isComplete && bytes.count < needed {
        throw ImageError(.needsMoreBytes(minimum: needed), "the format needs \(needed) bytes, but \(bytes.count) have arrived")
      }
      throw ImageError(.notAnImage, "the file is \(content.summary)")
    }
    guard let coder = coder(for: format) else {
      throw ImageError(.unavailable, "no registered coder can decode \(format.name) images")
    }
    return coder
  }
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

  /// Why no image can be encoded in that format on this machine; nil if images can.
  package func encodingError(for format: ImageFormat) -> ImageError? {
    let pixel = DecodedImage(header: ImageHeader(format: format, size: ImageSize(width: 1, height: 1)), pixels: .pixel)
    do throws(ImageError) {
      _ = try encode(pixel, as: format)
      return nil
    } catch {
      return error
    }
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
  /// One black pixel.
  fileprivate static let pixel = PixelBuffer(size: ImageSize(width: 1, height: 1), bytes: [0, 0, 0, 255])

  /// Whether all pixels are fully opaque.
  var isOpaque: Bool { bytes.withUnsafeBytes { $0.isOpaque } }
}

#if os(Linux)
extension ImageCoderRegistry {
  /// The same coders, of which the standard ones leave decoding to `workers`, except partial images of arriving files.
  ///
  /// Headers are read in this process, and SVGs are parsed here; the workers decode the images in them.
  public func isolated(by workers: DecodingWorkers) -> ImageCoderRegistry {
    let images = Self.standard.withPixels(by: workers)
    var registry = withPixels(by: workers)
    for index in registry.entries.indices where registry.entries[index].coder is SVGCoder {
      registry.entries[index].coder = SVGCoder(images: images)
    }
    return registry
  }

  private func withPixels(by workers: DecodingWorkers) -> ImageCoderRegistry {
    let standard = Set(Self.standard.entries.map { ObjectIdentifier($0.type) })
    var registry = self
    for (index, entry) in entries.enumerated() where entry.coder.decodesPixels && standard.contains(ObjectIdentifier(entry.type))
    {
      guard let format = ImageFormat.allCases.first(where: { entry.coder.canDecode($0) }) else { continue }
      registry.entries[index].coder = IsolatedCoder(base: entry.coder, format: format, workers: workers)
    }
    return registry
  }
}
#endif
