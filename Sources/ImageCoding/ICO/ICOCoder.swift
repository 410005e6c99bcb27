package import Base

/// Icons (ICO) and cursors (CUR, whose hotspots are ignored): PNG pictures by libpng and bitmaps with their masks.
///
/// The picture of an icon is the largest by its directory, as in browsers and Pillow, and the deepest of these. Its own header
/// states its size; a directory with other sizes causes a warning.
///
/// A 32-bit bitmap has its own alpha, and its mask may be missing if the directory's length leaves it out, too; if its alpha is 0
/// everywhere, the mask counts, as in Windows and browsers. The alpha of other bitmaps is that of the mask, which must be complete.
package struct ICOCoder: ImageCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .ico }

  /// Reads the directory and the header of the picture that it states to be the largest; if several are, the headers of all of
  /// them. For a complete file, it checks the headers and bitmaps of all pictures.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    let directory = try ICODirectory(prefix, isComplete: isComplete)
    if isComplete { _ = try directory.pictures(in: prefix) }
    let largest = try directory.largest(in: prefix, isComplete: isComplete)
    return try ImageHeader(largest, of: directory, isComplete: isComplete)
  }

  /// Decodes the largest picture to RGBA and verifies the others.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let icon = try ICOFile(bytes, limits: limits, isOnlyLargest: options.firstFrameOnly)
    let target = options.decodedSize(of: icon.largest.size)
    let (pixels, warnings) = try icon.read(keeping: target)
    return DecodedImage(header: icon.header, pixels: pixels!, warnings: warnings)
  }

  /// Decodes every picture, once if several entries refer to it.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let icon = try ICOFile(bytes, limits: limits, isOnlyLargest: false)
    return ImageProof(header: icon.header, warnings: try icon.read(keeping: nil).warnings)
  }
}

/// A complete icon within limits.
private struct ICOFile {
  let largest: ICOPicture
  let header: ImageHeader
  private let directory: ICODirectory
  /// The pictures to decode.
  private let pictures: [ICOPicture]
  private let limits: DecodingLimits

  /// The pixels of all pictures may be that many times ``DecodingLimits/maximumPixels``, which limits each. Icons that have every
  /// size in several depths have up to 7 times the pixels of the largest.
  private static let mostLargestPictures = 8
  /// A file can have thousands of pictures.
  private static let mostWarnings = 10

  init(_ file: UnsafeRawBufferPointer, limits: DecodingLimits, isOnlyLargest: Bool) throws(ImageError) {
    self.limits = limits
    directory = try ICODirectory(file, isComplete: true)
    let allowed = min(limits.maximumFrames, limits.maximumChunks)
    guard directory.entries.count <= allowed else {
      throw .undecodable("the \(directory.name) file has \(directory.entries.count) pictures, but \(allowed) are allowed")
    }
    let all = isOnlyLargest ? nil : try directory.pictures(in: file)
    largest = try directory.largest(in: file, isComplete: true)
    pictures = all ?? [largest]
    try largest.checkPixels()
    header = try ImageHeader(largest, of: directory, isComplete: true)
    try limits.check(header.size)
    var pixels = 0
    for picture in pictures {
      try picture.entry.naming { () throws(ImageError) in try limits.check(picture.size) }
      let (sum, overflow) = pixels.addingReportingOverflow(picture.size.pixels)
      guard !overflow, sum / Self.mostLargestPictures <= limits.maximumPixels else {
        throw ImageError(
          .dimensions(maximumPixels: limits.maximumPixels),
          """
          the pictures of the \(directory.name) file have more than \(Self.mostLargestPictures) times the allowed total of \
          \(limits.maximumPixels) pixels
          """
        )
      }
      pixels = sum
    }
  }

  /// Decodes the largest picture to `target`, unless nil, and verifies the others.
  func read(keeping target: ImageSize?) throws(ImageError) -> (pixels: PixelBuffer?, warnings: [String]) {
    let rows = pictures.reduce(0) { max($0, PNGMemory.rows($1.size.width)) }
    let kept = target.map { largest.size.pixels * 4 + ($0 == largest.size ? 0 : $0.pixels * 4 + RowScaler.bytes(to: $0)) } ?? 0
    return try limits.spending(rows + kept) { () throws(ImageError) in
      let deadline = DecodingDeadline(limits)
      var pixels: PixelBuffer?
      var warnings = directory.warnings(about: pictures)
      for picture in pictures {
        let target = picture.entry.offset == largest.entry.offset ? target : nil
        let (decoded, found) = try picture.entry.naming { () throws(ImageError) in try decode(picture, to: target, deadline) }
        pixels = decoded ?? pixels
        warnings += found.prefix(max(0, Self.mostWarnings - warnings.count)).map { "\(picture.entry.description): \($0)" }
      }
      return (pixels, warnings)
    }
  }

  /// Decodes a picture to `target`, or without keeping its pixels. Those of a bitmap are valid whatever their bits are.
  private func decode(
    _ picture: ICOPicture,
    to target: ImageSize?,
    _ deadline: DecodingDeadline
  ) throws(ImageError) -> (PixelBuffer?, [String]) {
    try deadline.check()
    if let bitmap = picture.bitmap {
      guard let target else { return (nil, []) }
      return (try picture.pixels(of: bitmap, deadline: deadline).reduced(to: target), [])
    }
    let header = try PNGHeader(picture.bytes, isComplete: true)
    try header.check(limits, picture.bytes)
    let png = PNGPicture(file: picture.bytes, header: header, deadline: deadline)
    guard let target else { return (nil, try png.proveStill()) }
    return try png.still(of: target)
  }
}

extension ImageHeader {
  /// The header of an icon by its largest picture.
  fileprivate init(_ picture: ICOPicture, of directory: ICODirectory, isComplete: Bool) throws(ImageError) {
    if let bitmap = picture.bitmap {
      self = bitmap.image
    } else {
      self = try picture.entry.naming { () throws(ImageError) in
        try PNGHeader(picture.bytes, isComplete: isComplete).image
      }
    }
    (format, frames, isAnimated, orientation, warnings) = (.ico, directory.entries.count, false, 1, [])
    (hasThumbnail, exifBytes) = (false, 0)
  }
}
