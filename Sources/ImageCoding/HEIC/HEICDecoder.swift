#if RareFormats
import CHEIF
import Base

/// libheif's context of one file.
struct HEICDecoder: ~Copyable {
  private let heif: CHEIFFunctions
  private let context: OpaquePointer
  private let deadline: DecodingDeadline

  private init(heif: CHEIFFunctions, context: OpaquePointer, deadline: DecodingDeadline) {
    (self.heif, self.context, self.deadline) = (heif, context, deadline)
  }

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
#endif
