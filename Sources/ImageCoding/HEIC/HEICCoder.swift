#if LoadedFormats
package import Base

/// HEIC by libheif and libde265: pictures and grids coded with HEVC, 8 to 16 bits per sample, with or without alpha.
///
/// A file may have several pictures, which aren't an animation: all are verified, and the primary one is decoded, with its clean
/// aperture (`clap`), rotation (`irot`) and mirroring (`imir`) applied. Thumbnails, depth maps and gain maps are ignored, as are the
/// tracks of an image sequence. Overlays (`iovl`) and pictures of other codecs are errors.
///
/// Truncated files, pictures with missing or surplus data, and pictures of another size than the container says are errors. libheif
/// would show such pictures as far as they go, so each is checked before it is decoded for its pixels, which takes up to 1.8 times as
/// long as decoding alone; verifying takes less than decoding. HEVC has no checksums: damage that changes colours but leaves the
/// number of coded blocks intact isn't detected.
///
/// A coded picture is decoded in one call that can't be interrupted, so ``DecodingLimits/maximumTime`` is checked between the tiles of
/// a grid and between pictures.
package struct HEICCoder: ImageCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .heic }

  /// Reads the boxes `ftyp` and `meta`, without the library. EXIF metadata are outside of them, so a prefix may lack them.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try HEICHeader(of: prefix, isComplete: isComplete).header
  }

  /// Decodes the primary picture to upright RGBA, not premultiplied, and verifies the others unless `options` limit it to the first.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let file = try HEICHeader(of: bytes, isComplete: true)
    let size = options.decodedSize(of: file.header.displaySize)
    var pixels: PixelBuffer?
    let count = options.firstFrameOnly ? 1 : file.images.count
    let warnings = try decode(bytes, file, limits, count: count, isProof: false) { planes in
      pixels = planes.pixels()
    }
    return DecodedImage(header: file.header, pixels: pixels!.reduced(to: size), warnings: warnings)
  }

  /// Decodes every picture without its filters, which has the same verdict.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let file = try HEICHeader(of: bytes, isComplete: true)
    let warnings = try decode(bytes, file, limits, count: file.images.count, isProof: true) { _ in }
    return ImageProof(header: file.header, warnings: warnings)
  }

  private func decode(
    _ bytes: UnsafeRawBufferPointer,
    _ file: HEICHeader,
    _ limits: DecodingLimits,
    count: Int,
    isProof: Bool,
    primary: (borrowing HEICPlanes) -> Void
  ) throws(ImageError) -> [String] {
    let deadline = DecodingDeadline(limits)
    try limits.check(frames: file.images.count)
    for image in file.images.prefix(count) { try limits.check(image.placement.size) }
    let memory = file.images.prefix(count).map { HEICMemory.bytes(of: $0, isProof: isProof) }.max() ?? 0
    return try limits.spending(memory + file.itemBytes) { () throws(ImageError) in
      let decoder = try HEICDecoder.opening(bytes, file, deadline: deadline)
      var warnings: [String] = []
      for (index, image) in file.images.prefix(count).enumerated() {
        try deadline.check()
        let planes = try decoder.decode(image, isPrimary: index == 0, isProof: isProof || index > 0)
        if index == 0 { primary(planes) }
        warnings += planes.warnings.filter { !warnings.contains($0) }
      }
      return warnings
    }
  }
}

/// The memory that libheif and libde265 use to decode a picture, by measurements of version 1.15.
enum HEICMemory {
  /// The maximum number of bytes, saturated.
  static func bytes(of image: HEICImage, isProof: Bool) -> Int {
    let sampleBytes = image.depth > 8 ? 2 : 1
    let coded = image.codedSizes.map(\.pixels).max() ?? 0
    let isPlain = image.codedSizes.contains(image.placement.size) && image.placement.orientation == 1
    // Of a coded picture, its planes, their copy, and tables; later its planes before and after a conversion.
    let perCoded = 8 * sampleBytes
    // Of the whole picture, three planes before and after a transformation, those of alpha, and RGBA.
    let perShown = (isPlain ? 0 : 6 * sampleBytes) + (image.alpha == nil ? 0 : 4 * sampleBytes) + (isProof ? 0 : 4)
    return coded.saturated(times: perCoded) + image.placement.size.pixels.saturated(times: perShown) + 2 << 20
  }
}
#endif
