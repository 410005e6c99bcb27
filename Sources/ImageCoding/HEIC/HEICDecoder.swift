#if LoadedFormats
import Base
import CHEIF

/// libheif's context of one file.
struct HEICDecoder: ~Copyable {
  private let heif: CHEIFFunctions
  private let context: OpaquePointer
  private let deadline: DecodingDeadline

  deinit { heif.contextFree(context) }

  /// Reads the boxes of a complete file, which must outlive the decoder, and the data of its items.
  static func opening(
    _ bytes: UnsafeRawBufferPointer,
    _ file: HEICHeader,
    deadline: DecodingDeadline
  ) throws(ImageError) -> HEICDecoder {
    let heif = try CHEIFFunctions.loaded()
    guard let context = heif.contextAlloc() else { throw ImageError(.outOfMemory, "libheif: out of memory") }
    let decoder = HEICDecoder(heif: heif, context: context, deadline: deadline)
    heif.setMaximumThreads(context, 0)
    heif.setMaximumSide(context, Int32(clamping: file.longestSide + 1))
    let error = heif.read(context, bytes.baseAddress, bytes.count, nil)
    guard error.code == heif_error_Ok else { throw Self.error(error) }
    return decoder
  }

  /// Decodes a picture to upright planes; if it `isProof`, without the filters that don't change whether it is good.
  func decode(_ image: HEICImage, isPrimary: Bool, isProof: Bool) throws(ImageError) -> HEICPlanes {
    var handle: OpaquePointer?
    let found = isPrimary ? heif.getPrimary(context, &handle) : heif.getImage(context, UInt32(clamping: image.number), &handle)
    guard found.code == heif_error_Ok, let handle else { throw Self.error(found) }
    defer { heif.handleRelease(handle) }
    var decoding = CHEIFDecoding()
    decoding.is_proof = isProof
    decoding.deadline = deadline.nanoseconds
    let sizes = image.codedSizes.prefix(Int(CHEIF_SIZES))
    Self.copy(sizes.map(\.width), to: &decoding.widths)
    Self.copy(sizes.map(\.height), to: &decoding.heights)
    decoding.size_count = Int32(sizes.count)
    decoding.depth = image.depth > 8 ? 16 : 8
    var planes: OpaquePointer?
    let error = cheif_decode(handle, &planes, &decoding)
    guard error.code == heif_error_Ok, let planes else {
      if let planes { heif.imageRelease(planes) }
      throw try failure(decoding, image) ?? Self.error(error)
    }
    let result = HEICPlanes(
      planes,
      of: image,
      isPremultiplied: image.alpha != nil && heif.isPremultiplied(handle) != 0,
      warnings: warnings(of: planes, decoding),
      heif: heif
    )
    try result.check()
    return result
  }

  private static func copy(_ numbers: [Int], to array: inout (Int32, Int32)) {
    withUnsafeMutableBytes(of: &array) { $0.copyBytes(from: numbers.map { Int32(clamping: $0) }.withUnsafeBytes(Array.init)) }
  }

  private func failure(_ decoding: CHEIFDecoding, _ image: HEICImage) throws(ImageError) -> ImageError? {
    switch decoding.failure {
    case CHEIF_DAMAGED:
      return .undecodable("libde265: \(String(cString: cheif_codec_text(decoding.code)))")
    case CHEIF_INCOMPLETE:
      return .undecodable("the HEIC picture is damaged: its data end before its last pixel")
    case CHEIF_NOT_STILL:
      return .undecodable("the HEIC picture's data aren't those of one still picture")
    case CHEIF_OTHER_SIZE:
      let sizes = image.codedSizes.map { "\($0.width) x \($0.height)" }.sorted().joined(separator: " or ")
      return .undecodable("the HEIC container says \(sizes) pixels, its picture \(decoding.width) x \(decoding.height)")
    case CHEIF_OTHER_DEPTH:
      return .undecodable("the HEIC container says 8 bits per sample, its picture more")
    case CHEIF_TOO_LARGE:
      return .undecodable("the HEIC picture refers to others, which isn't supported for more than 1 megapixel")
    case CHEIF_NO_MEMORY:
      return ImageError(.outOfMemory, "libde265: out of memory")
    case CHEIF_TOO_LATE:
      try deadline.check()
      return nil
    default:
      return nil
    }
  }

  private func warnings(of planes: OpaquePointer, _ decoding: CHEIFDecoding) -> [String] {
    let codes = withUnsafeBytes(of: decoding.warnings) { Array($0.bindMemory(to: Int32.self)) }
    var texts = codes.prefix(Int(decoding.warning_count)).map { "libde265: \(String(cString: cheif_codec_text($0)))" }
    let count = heif.getWarnings(planes, 0, nil, 0)
    guard count > 0 else { return texts }
    var errors = [heif_error](repeating: heif_error(), count: Int(count))
    _ = heif.getWarnings(planes, 0, &errors, count)
    for error in errors {
      let text = Self.error(error).message
      if !texts.contains(text) { texts.append(text) }
    }
    return texts
  }

  private static func error(_ error: heif_error) -> ImageError {
    let text = error.message.map { String(cString: $0) } ?? "no reason given"
    let message = "libheif: \(text.split(whereSeparator: \.isNewline).joined(separator: " "))"
    if error.subcode == heif_suberror_Unsupported_codec {
      return ImageError(.unavailable, "libheif has no decoder for the image: \(text)")
    }
    let isMemory = error.code == heif_error_Memory_allocation_error && error.subcode != heif_suberror_Security_limit_exceeded
    return isMemory ? ImageError(.outOfMemory, message) : .undecodable(message)
  }
}

extension CHEIFFunctions {
  /// libheif and libde265, loaded on first use; throws ``ImageError/Kind/unavailable`` if one isn't installed.
  static func loaded() throws(ImageError) -> CHEIFFunctions {
    guard let functions = cheif_functions() else {
      let purpose = "the image is HEIC"
      throw .missingLibrary("libheif and libde265", package: CHEIF_PACKAGE, for: purpose, reason: cheif_error())
    }
    return functions.pointee
  }
}

/// The decoded planes of a picture: red, green, blue, and alpha if it has any.
struct HEICPlanes: ~Copyable {
  let warnings: [String]
  private let isPremultiplied: Bool
  private let size: ImageSize
  private let planes: [Plane]
  private let heif: CHEIFFunctions
  private let image: OpaquePointer

  private struct Plane {
    /// Nil if there is none.
    let start: UnsafePointer<UInt8>?
    let size: ImageSize
    let rowBytes: Int
    let depth: Int
  }

  /// Takes over `image`.
  init(_ image: OpaquePointer, of header: HEICImage, isPremultiplied: Bool, warnings: [String], heif: CHEIFFunctions) {
    (self.heif, self.image, self.isPremultiplied, self.warnings) = (heif, image, isPremultiplied, warnings)
    size = header.placement.size
    let channels = [heif_channel_R, heif_channel_G, heif_channel_B] + (header.alpha == nil ? [] : [heif_channel_Alpha])
    planes = channels.map { channel in
      var rowBytes: Int32 = 0
      let start = heif.hasChannel(image, channel) != 0 ? heif.channelPlane(image, channel, &rowBytes) : nil
      return Plane(
        start: start,
        size: ImageSize(width: Int(heif.channelWidth(image, channel)), height: Int(heif.channelHeight(image, channel))),
        rowBytes: Int(rowBytes),
        depth: Int(heif.channelDepth(image, channel))
      )
    }
  }

  deinit { heif.imageRelease(image) }

  /// Throws if the planes don't have the size and alpha of the header.
  func check() throws(ImageError) {
    for plane in planes {
      guard plane.start != nil else { throw .undecodable("libheif: a plane of the picture is missing") }
      guard plane.size != size else { continue }
      let decoded = "\(plane.size.width) x \(plane.size.height)"
      throw .undecodable("the HEIC container says \(size.width) x \(size.height) pixels, its picture \(decoded)")
    }
  }

  /// RGBA, not premultiplied, of the highest 8 bits of each sample.
  func pixels() -> PixelBuffer {
    let width = size.width
    return PixelBuffer(size: size) { y, row in
      for (channel, plane) in planes.enumerated() {
        guard let start = plane.start.map({ $0 + y * plane.rowBytes }) else { continue }
        if plane.depth <= 8 {
          for x in 0..<width { row[x * 4 + channel] = start[x] }
        } else {
          let shift = UInt16(plane.depth - 8)
          start.withMemoryRebound(to: UInt16.self, capacity: width) { start in
            for x in 0..<width { row[x * 4 + channel] = UInt8(truncatingIfNeeded: start[x] >> shift) }
          }
        }
      }
      if planes.count < 4 {
        for x in 0..<width { row[x * 4 + 3] = 255 }
      } else if isPremultiplied {
        for x in 0..<width { Self.divide(row, at: x * 4) }
      }
    }
  }

  private static func divide(_ row: UnsafeMutableBufferPointer<UInt8>, at offset: Int) {
    let alpha = Int(row[offset + 3])
    for channel in offset..<offset + 3 {
      row[channel] = alpha == 0 ? 0 : UInt8(min(255, (Int(row[channel]) * 255 + alpha / 2) / alpha))
    }
  }
}
#endif
