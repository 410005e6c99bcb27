#if LoadedFormats
import CAVIF
import Base

/// Encodes AVIF: a still picture or an animation, which is shown forever.
struct AVIFEncoder {
  private let options: EncodingOptions
  private let avif: CAVIFFunctions

  /// From this quality on, chroma isn't subsampled.
  private static let fullChromaQuality = 90
  /// Of 0…10: libavif's own default for files that are made while someone waits.
  private static let speed: Int32 = 6

  init(_ options: EncodingOptions) throws(ImageError) {
    self.options = options
    avif = try CAVIFFunctions.loaded(for: "writing AVIF needs a library")
  }

  /// Whether libavif has an encoder; true if it isn't installed, which ``init(_:)`` reports.
  static var isSupported: Bool {
    guard let functions = cavif_functions()?.pointee else { return true }
    return functions.codecName(AVIF_CODEC_CHOICE_AUTO, avifCodecFlags(AVIF_CODEC_FLAG_CAN_ENCODE.rawValue)) != nil
  }

  func encode(_ image: DecodedImage) throws(ImageError) -> [UInt8] {
    let size = try options.size(of: image.pixels, as: .avif, "an AVIF")
    var frames = options.firstFrameOnly ? [] : image.animation?.frames ?? []
    if frames.count < 2 { frames = [DecodedImage.Frame(pixels: image.pixels, duration: .zero)] }
    // All frames have alpha, or none.
    let isOpaque = frames.allSatisfy(\.pixels.isOpaque)
    return try options.fittingOrLossless { quality throws(ImageError) in
      let encoder = try makeEncoder(quality)
      defer { avif.encoderDestroy(encoder) }
      for frame in frames {
        try add(frame, size, isOpaque: isOpaque, quality: quality, isOnly: frames.count == 1, to: encoder)
      }
      var output = avifRWData()
      defer { avif.rwDataFree(&output) }
      try check(avif.encoderFinish(encoder, &output), encoder)
      return Array(UnsafeBufferPointer(start: output.data, count: output.size))
    }
  }

  /// `quality` is nil for a lossless image.
  private func makeEncoder(_ quality: Int?) throws(ImageError) -> UnsafeMutablePointer<avifEncoder> {
    guard let encoder = avif.encoderCreate() else { throw ImageError(.outOfMemory, "libavif: out of memory") }
    encoder.pointee.speed = Self.speed
    encoder.pointee.maxThreads = 1
    encoder.pointee.timescale = 1000
    // The quantizers that avifenc uses for its option --qcolor; alpha is lossless.
    let quantizer = quality.map { Int32(((100 - $0) * 63 + 50) / 100) } ?? 0
    encoder.pointee.minQuantizer = quality == nil ? 0 : max(0, quantizer - 4)
    encoder.pointee.maxQuantizer = quality == nil ? 0 : min(63, quantizer + 4)
    encoder.pointee.minQuantizerAlpha = 0
    encoder.pointee.maxQuantizerAlpha = 0
    return encoder
  }

  private func add(
    _ frame: DecodedImage.Frame,
    _ size: ImageSize,
    isOpaque: Bool,
    quality: Int?,
    isOnly: Bool,
    to encoder: UnsafeMutablePointer<avifEncoder>
  ) throws(ImageError) {
    let format = quality.map { $0 < Self.fullChromaQuality } ?? false ? AVIF_PIXEL_FORMAT_YUV420 : AVIF_PIXEL_FORMAT_YUV444
    guard let image = avif.imageCreate(UInt32(size.width), UInt32(size.height), 8, format) else {
      throw ImageError(.outOfMemory, "libavif: out of memory")
    }
    defer { avif.imageDestroy(image) }
    image.pointee.colorPrimaries = avifColorPrimaries(AVIF_COLOR_PRIMARIES_BT709)
    image.pointee.transferCharacteristics = avifTransferCharacteristics(AVIF_TRANSFER_CHARACTERISTICS_SRGB)
    let matrix = quality == nil ? AVIF_MATRIX_COEFFICIENTS_IDENTITY : AVIF_MATRIX_COEFFICIENTS_BT601
    image.pointee.matrixCoefficients = avifMatrixCoefficients(matrix)
    var source = avifRGBImage()
    avif.rgbImageSetDefaults(&source, image)
    source.format = AVIF_RGB_FORMAT_RGBA
    source.depth = 8
    source.ignoreAlpha = avifBool(isOpaque ? AVIF_TRUE : AVIF_FALSE)
    source.rowBytes = UInt32(size.width * 4)
    let converted = frame.pixels.reduced(to: size).bytes.withUnsafeBufferPointer { pixels in
      // libavif only reads them.
      source.pixels = UnsafeMutablePointer(mutating: pixels.baseAddress)
      return avif.imageRGBToYUV(image, &source)
    }
    try check(converted, encoder)
    let milliseconds = UInt64(max(1, frame.duration / .milliseconds(1)))
    let flags = isOnly ? AVIF_ADD_IMAGE_FLAG_SINGLE : AVIF_ADD_IMAGE_FLAG_NONE
    try check(avif.encoderAddImage(encoder, image, milliseconds, avifAddImageFlags(flags.rawValue)), encoder)
  }

  private func check(_ result: avifResult, _ encoder: UnsafeMutablePointer<avifEncoder>) throws(ImageError) {
    guard result != AVIF_RESULT_OK else { return }
    throw ImageError(
      result == AVIF_RESULT_OUT_OF_MEMORY ? .outOfMemory : .unencodable,
      avif.message(result, encoder.pointee.diag)
    )
  }
}
#endif
