public import ImagePrimitives

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
