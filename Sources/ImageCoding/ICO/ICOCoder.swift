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
    var pixels: PixelBuffer?
    let warnings = try limits.spending(icon.memory(for: target)) { () throws(ImageError) in
      try icon.prove { picture, deadline throws(ImageError) in
        guard picture.entry.offset == icon.largest.entry.offset else { return nil }
        let (decoded, warnings) = try icon.pixels(of: target, deadline)
        pixels = decoded
        return warnings
      }
    }
    guard let pixels else { throw .undecodable("the \(icon.directory.name) file has no picture") }
    return DecodedImage(header: icon.header, pixels: pixels, warnings: warnings)
  }

  /// Decodes every picture, once if several entries refer to it.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let icon = try ICOFile(bytes, limits: limits, isOnlyLargest: false)
    let warnings = try limits.spending(icon.memory(for: nil)) { () throws(ImageError) in try icon.prove { _, _ in nil } }
    return ImageProof(header: icon.header, warnings: warnings)
  }
}

/// A complete icon within limits.
private struct ICOFile {
  let directory: ICODirectory
  let largest: ICOPicture
  let header: ImageHeader
  /// The pictures to decode.
  private let pictures: [ICOPicture]
  private let limits: DecodingLimits

  /// The pixels of all pictures may be that many times ``DecodingLimits/maximumPixels``, which limits each. Icons that have every
  /// size in several depths have up to 7 times the pixels of the largest.
  private static let mostLargestPictures = 8

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
      do throws(ImageError) { try limits.check(picture.size) } catch { throw error.inside(picture.entry) }
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

  /// The memory for decoding the largest picture to `target`, unless nil, and verifying the others, in bytes.
  func memory(for target: ImageSize?) -> Int {
    let rows = pictures.reduce(0) { max($0, PNGMemory.rows($1.size.width)) }
    guard let target else { return rows }
    let reduced = target == largest.size ? 0 : target.pixels * 4 + target.width * MemoryLayout<SIMD4<Double>>.stride
    return rows + largest.size.pixels * 4 + reduced
  }

  /// Verifies every picture that `decode` doesn't decode, for which it returns nil; returns the warnings.
  func prove(_ decode: (ICOPicture, DecodingDeadline) throws(ImageError) -> [String]?) throws(ImageError) -> [String] {
    let deadline = DecodingDeadline(limits)
    var warnings = directory.warnings(about: pictures)
    for picture in pictures {
      do throws(ImageError) {
        try deadline.check()
        let decoded = try decode(picture, deadline)
        let found = if let decoded { decoded } else { try prove(picture, deadline) }
        // A file can have thousands of pictures.
        warnings += found.prefix(max(0, Self.mostWarnings - warnings.count)).map { "\(picture.entry.description): \($0)" }
      } catch {
        throw error.inside(picture.entry)
      }
    }
    return warnings
  }

  private static let mostWarnings = 10

  private func prove(_ picture: ICOPicture, _ deadline: DecodingDeadline) throws(ImageError) -> [String] {
    guard case .png = picture.content else { return [] }
    return try png(picture, deadline).proveStill()
  }

  /// The pixels of the largest picture, and the warnings.
  func pixels(of target: ImageSize, _ deadline: DecodingDeadline) throws(ImageError) -> (PixelBuffer, [String]) {
    guard case .bitmap(let header) = largest.content else { return try png(largest, deadline).still(of: target) }
    var bitmap = BMPPixels(header, largest.bytes)
    var pixels = try bitmap.pixels(of: largest.size, deadline: deadline)
    largest.applyMask(to: &pixels)
    return (pixels.reduced(to: target), [])
  }

  private func png(_ picture: ICOPicture, _ deadline: DecodingDeadline) throws(ImageError) -> PNGPicture {
    let header = try PNGHeader(picture.bytes, isComplete: true)
    try header.check(limits, picture.bytes)
    return PNGPicture(file: picture.bytes, header: header, deadline: deadline)
  }
}

extension ImageHeader {
  /// The header of an icon by its largest picture.
  fileprivate init(_ picture: ICOPicture, of directory: ICODirectory, isComplete: Bool) throws(ImageError) {
    let own: ImageHeader
    switch picture.content {
    case .bitmap(let header):
      own = ImageHeader(
        format: .ico,
        size: header.size,
        hasAlpha: true,
        colorSpace: header.bits > 8 ? .rgb : .indexed,
        dpi: header.dpi
      )
    case .png:
      do throws(ImageError) {
        own = ImageHeader(try PNGHeader(picture.bytes, isComplete: isComplete), isComplete: isComplete)
      } catch {
        throw error.inside(picture.entry)
      }
    }
    self.init(
      format: .ico,
      size: own.size,
      frames: directory.entries.count,
      hasAlpha: own.hasAlpha,
      colorSpace: own.colorSpace,
      profile: own.profile,
      hasPosition: own.hasPosition,
      dpi: own.dpi
    )
  }
}
