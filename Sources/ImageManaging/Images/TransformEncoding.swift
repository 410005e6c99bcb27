public import ImageCoding
public import ImagePrimitives

/// How a transformed image is written to disk.
public struct TransformEncoding: Sendable, Hashable {
  /// The format; nil: the one that ``/ImageCoding/ImageCoderRegistry/encodingFormat(for:options:)`` chooses.
  public var format: ImageFormat?
  /// Quality and limits.
  public var options: EncodingOptions

  /// An encoding; by default in the format that suits the image, of quality 85.
  public init(format: ImageFormat? = nil, options: EncodingOptions = EncodingOptions()) {
    self.format = format
    self.options = options
  }

  /// Whether it writes one frame alone, whatever the image has.
  var isStill: Bool { options.firstFrameOnly || format == .jpeg || format == .png }

  /// What tells its files from those of others, such as `encode(webp,85)`: it becomes part of the identity of what is stored, as a transformer's key does.
  public var key: String {
    var parts = [format?.name ?? "auto", "\(options.quality)"]
    if options.isLossless { parts.append("lossless") }
    if let bytes = options.maximumBytes { parts.append("max-bytes=\(bytes)") }
    if let size = options.maximumSize { parts.append("max-size=\(size.width)x\(size.height)") }
    if options.firstFrameOnly { parts.append("first-frame") }
    return "encode(\(parts.joined(separator: ",")))"
  }
}
