#if LoadedFormats
import Base
import CAVIF

/// libavif's decoder for one file, from its boxes to its last frame.
struct AVIFDecoder: ~Copyable {
  /// How often an animation is shown; 0: forever.
  let loopCount: Int
  private let items: Int
  private let avif: CAVIFFunctions
  private let decoder: UnsafeMutablePointer<avifDecoder>
  private let io: UnsafeMutablePointer<avifIO>
  private let input: UnsafeMutablePointer<AVIFInput>

  private init(_ bytes: UnsafeRawBufferPointer, isComplete: Bool, structure: AVIFStructure, avif: CAVIFFunctions) {
    self.avif = avif
    loopCount = structure.loopCount
    items = structure.items
    input = .allocate(capacity: 1)
    input.initialize(to: AVIFInput(bytes, isComplete: isComplete))
    io = .allocate(capacity: 1)
    io.initialize(to: AVIFInput.makeIO(over: input))
    decoder = avif.decoderCreate()!
    avif.decoderSetIO(decoder, io)
    decoder.pointee.maxThreads = 1
    decoder.pointee.strictFlags = AVIF_STRICT_ALPHA_ISPE_REQUIRED.rawValue
    decoder.pointee.imageCountLimit = AVIFStructure.maximumFrames
    // Read metadata of a complete file, to detect truncation inside it; its position is arbitrary, so don't require it in a prefix.
    decoder.pointee.ignoreExif = avifBool(isComplete ? AVIF_FALSE : AVIF_TRUE)
    decoder.pointee.ignoreXMP = avifBool(isComplete ? AVIF_FALSE : AVIF_TRUE)
  }

  deinit {
    avif.decoderDestroy(decoder)
    io.deallocate()
    input.deallocate()
  }

  /// A decoder that has read the boxes of `bytes`, which must outlive it.
  static func opening(_ bytes: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> AVIFDecoder {
    guard ImageFormat(prefix: bytes) == .avif else {
      throw ImageError(.notAnImage, "not an AVIF file: it doesn't start with a file type box (ftyp) of brand avif or avis")
    }
    let structure = try AVIFStructure(of: bytes)
    let avif = try CAVIFFunctions.loaded()
    let decoder = AVIFDecoder(bytes, isComplete: isComplete, structure: structure, avif: avif)
    try decoder.check(avif.decoderParse(decoder.decoder))
    return decoder
  }

  /// A decoder for the frames of a complete file that is within `limits`.
  static func opening(_ bytes: UnsafeRawBufferPointer, within limits: DecodingLimits) throws(ImageError) -> AVIFDecoder {
    let decoder = try opening(bytes, isComplete: true)
    let header = decoder.header
    try limits.check(header.size)
    try limits.check(frames: header.frames)
    // libavif would scale a coded frame whose size differs from its box.
    decoder.decoder.pointee.imageSizeLimit = UInt32(clamping: AVIFMemory.framePixels(of: header.size))
    return decoder
  }

  /// The header as stated by the boxes.
  var header: ImageHeader {
    let image = decoder.pointee.image.pointee
    var header = ImageHeader(
      format: .avif,
      size: ImageSize(width: Int(image.width), height: Int(image.height)),
      frames: Int(decoder.pointee.imageCount),
      hasAlpha: decoder.pointee.alphaPresent != AVIF_FALSE,
      orientation: image.exifOrientation
    )
    header.colorSpace = image.colorSpace
    if image.icc.size > 0 {
      header.profile = ICCProfile(data: UnsafeRawBufferPointer(start: image.icc.data, count: image.icc.size))
    }
    // Only read from a complete file.
    let metadata = UnsafeRawBufferPointer(start: image.exif.data, count: image.exif.size)
    header.add(EXIF(tiff: ByteView(metadata), 0..<metadata.count))
    return header
  }

  /// The memory needed to decode its frames.
  var memory: Int {
    let image = decoder.pointee.image.pointee
    return AVIFMemory.bytes(of: header, format: image.yuvFormat, depth: Int(image.depth), items: items)
  }

  /// The duration of the current frame.
  var frameMilliseconds: Int {
    let timing = decoder.pointee.imageTiming
    guard timing.timescale > 0 else { return 0 }
    return Int(min((Double(timing.durationInTimescales) / Double(timing.timescale) * 1000).rounded(), 1e12))
  }

  /// Decodes the next frame; throws if it has another size than the container says.
  func next() throws(ImageError) {
    let stated = header.size
    try check(avif.decoderNextImage(decoder))
    let decoded = decodedSize
    guard decoded != stated else { return }
    throw .undecodable(
      "the AVIF container says \(stated.width) x \(stated.height) pixels, its picture \(decoded.width) x \(decoded.height)"
    )
  }

  private var decodedSize: ImageSize {
    ImageSize(width: Int(decoder.pointee.image.pointee.width), height: Int(decoder.pointee.image.pointee.height))
  }

  /// The pixels of the next frame, upright and reduced to `size`.
  func nextPixels(_ size: ImageSize) throws(ImageError) -> PixelBuffer {
    let header = header
    try next()
    let image = decoder.pointee.image!
    let pixels = try PixelBuffer(size: decodedSize) { pixels throws(ImageError) in
      try check(UnsafePointer(image).convert(into: pixels, by: avif))
    }
    return pixels.upright(orientation: header.orientation).reduced(to: size)
  }

  /// Converts a corner of the current frame, which fails if converting all of it would.
  func checkColors() throws(ImageError) {
    let image = decoder.pointee.image!
    guard let corner = avif.imageCreateEmpty() else { throw ImageError(.outOfMemory, "libavif: out of memory") }
    defer { avif.imageDestroy(corner) }
    var area = avifCropRect(x: 0, y: 0, width: min(2, image.pointee.width), height: min(2, image.pointee.height))
    try check(avif.imageSetViewRect(corner, image, &area))
    let size = ImageSize(width: Int(area.width), height: Int(area.height))
    _ = try PixelBuffer(size: size) { pixels throws(ImageError) in
      try check(UnsafePointer(corner).convert(into: pixels, by: avif))
    }
  }

  private func check(_ result: avifResult) throws(ImageError) {
    guard result != AVIF_RESULT_OK else { return }
    if result == AVIF_RESULT_WAITING_ON_IO {
      let needed = input.pointee.wantedBytes
      throw .endsEarly("AVIF", needed: needed, of: input.pointee.bytes.count, isComplete: input.pointee.isComplete)
    }
    let message = avif.message(result, decoder.pointee.diag)
    if result == AVIF_RESULT_OUT_OF_MEMORY { throw ImageError(.outOfMemory, message) }
    if message.contains("dimensions are too large") {
      throw ImageError(.dimensions(maximumPixels: Int(decoder.pointee.imageSizeLimit)), message)
    }
    throw .undecodable(message)
  }
}

/// The bytes that libavif reads through an `avifIO`, and how far beyond a prefix it wanted to read.
struct AVIFInput {
  let bytes: UnsafeRawBufferPointer
  let isComplete: Bool
  /// The end of the furthest range requested beyond a prefix; 0 if none was.
  private(set) var wantedBytes = 0

  /// The assumed maximum size of a file with unknown length, against which libavif checks sizes in the file.
  private static let maximumFileBytes: UInt64 = 1 << 30

  init(_ bytes: UnsafeRawBufferPointer, isComplete: Bool) {
    self.bytes = bytes
    self.isComplete = isComplete
  }

  /// An `avifIO` for `input`, which must outlive it, as must its bytes.
  static func makeIO(over input: UnsafeMutablePointer<AVIFInput>) -> avifIO {
    avifIO(
      destroy: nil,
      read: { io, _, offset, size, out in
        guard let input = io?.pointee.data?.assumingMemoryBound(to: AVIFInput.self), let out else {
          return AVIF_RESULT_INVALID_ARGUMENT
        }
        return input.pointee.read(size, at: offset, into: &out.pointee)
      },
      write: nil,
      sizeHint: input.pointee.isComplete ? UInt64(input.pointee.bytes.count) : maximumFileBytes,
      persistent: avifBool(AVIF_TRUE),
      data: input
    )
  }

  /// Implements `avifIOReadFunc`: for a complete file, returns the available part of the range; for a prefix, all of it or a
  /// request for more.
  private mutating func read(_ size: Int, at offset: UInt64, into out: inout avifROData) -> avifResult {
    let (end, overflow) = offset.addingReportingOverflow(UInt64(size))
    if overflow || end > UInt64(bytes.count) {
      guard isComplete else {
        wantedBytes = max(wantedBytes, Int(clamping: overflow ? .max : end))
        return AVIF_RESULT_WAITING_ON_IO
      }
      guard offset <= UInt64(bytes.count) else { return AVIF_RESULT_IO_ERROR }
    }
    let start = Int(offset)
    out.data = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: start)
    out.size = min(size, bytes.count - start)
    return AVIF_RESULT_OK
  }
}

extension CAVIFFunctions {
  /// libavif, loaded on first use for `purpose`; throws ``ImageError/Kind/unavailable`` if it isn't installed.
  static func loaded(for purpose: String = "the image is AVIF") throws(ImageError) -> CAVIFFunctions {
    guard let functions = cavif_functions() else {
      throw .missingLibrary("libavif", package: CAVIF_PACKAGE, for: purpose, reason: cavif_error())
    }
    return functions.pointee
  }

  /// What libavif says about a failed call.
  func message(_ result: avifResult, _ diagnostics: avifDiagnostics) -> String {
    let detail = LibraryText(diagnostics.error).description
    return "libavif: \(String(cString: resultToString(result)!))\(detail.isEmpty ? "" : ": \(detail)")"
  }
}

extension avifImage {
  /// The EXIF orientation, 1…8, that equals `irot` and `imir`: first a rotation anti-clockwise in quarters, then mirroring (ISO/IEC
  /// 23000-22, section 7.3.6.7).
  ///
  /// The EXIF metadata itself is ignored: the boxes are authoritative, and careful encoders write both alike.
  var exifOrientation: Int {
    let angle = transformFlags & AVIF_TRANSFORM_IROT.rawValue != 0 ? Int(irot.angle & 3) : 0
    guard transformFlags & AVIF_TRANSFORM_IMIR.rawValue != 0 else { return [1, 8, 3, 6][angle] }
    // Mode 0 swaps top and bottom, mode 1 left and right.
    return imir.mode == 0 ? [4, 5, 2, 7][angle] : [2, 7, 4, 5][angle]
  }

  /// The colour model of the samples.
  var colorSpace: ImageHeader.ColorSpace? {
    switch yuvFormat {
    case AVIF_PIXEL_FORMAT_NONE: nil
    case AVIF_PIXEL_FORMAT_YUV400: .gray
    default: Int(matrixCoefficients) == Int(AVIF_MATRIX_COEFFICIENTS_IDENTITY) ? .rgb : .ycbcr
    }
  }
}

/// Conversion of a decoded picture to 8-bit RGBA.
extension UnsafePointer<avifImage> {
  /// Writes `width * height * 4` bytes to `pixels`, in the stored orientation, not premultiplied.
  func convert(into pixels: UnsafeMutableBufferPointer<UInt8>, by avif: CAVIFFunctions) -> avifResult {
    guard pointee.losesLowBits else { return convertDirectly(into: pixels, by: avif) }
    guard let shallow = avif.imageCreateEmpty() else { return AVIF_RESULT_OUT_OF_MEMORY }
    defer { avif.imageDestroy(shallow) }
    let result = copyHighBits(to: shallow, by: avif)
    return result == AVIF_RESULT_OK ? UnsafePointer(shallow).convertDirectly(into: pixels, by: avif) : result
  }

  private func convertDirectly(into pixels: UnsafeMutableBufferPointer<UInt8>, by avif: CAVIFFunctions) -> avifResult {
    var target = avifRGBImage()
    avif.rgbImageSetDefaults(&target, self)
    target.format = AVIF_RGB_FORMAT_RGBA
    target.depth = 8
    target.pixels = pixels.baseAddress
    target.rowBytes = target.width * 4
    return avif.imageYUVToRGB(self, &target)
  }

  /// Copies the picture to `target` with the highest 8 bits of each sample.
  private func copyHighBits(to target: UnsafeMutablePointer<avifImage>, by avif: CAVIFFunctions) -> avifResult {
    let copied = avif.imageCopy(target, self, 0)
    guard copied == AVIF_RESULT_OK else { return copied }
    target.pointee.depth = 8
    let planes = AVIF_PLANES_YUV.rawValue | (pointee.alphaPlane == nil ? 0 : AVIF_PLANES_A.rawValue)
    let allocated = avif.imageAllocatePlanes(target, planes)
    guard allocated == AVIF_RESULT_OK else { return allocated }
    for (source, target) in zip(pointee.planes(by: avif), target.pointee.planes(by: avif)) {
      for y in 0..<source.height {
        guard let deep = source.row(y), let shallow = target.row(y) else { continue }
        deep.withMemoryRebound(to: UInt16.self, capacity: source.width) { deep in
          for x in 0..<source.width { shallow[x] = UInt8(truncatingIfNeeded: deep[x] >> UInt16(pointee.depth - 8)) }
        }
      }
    }
    return AVIF_RESULT_OK
  }
}

extension avifImage {
  /// Whether libavif 1.0 and later would drop the lowest bits before converting colours. Older versions compute some formats in
  /// full depth and use another filter for others; the result shouldn't depend on the version.
  fileprivate var losesLowBits: Bool {
    guard depth > 8, yuvFormat != AVIF_PIXEL_FORMAT_YUV400 else { return false }
    return alphaPlane == nil || (depth > 10 && yuvFormat != AVIF_PIXEL_FORMAT_YUV420)
  }

  /// The planes that it can have, in the same order for all images of a format.
  fileprivate func planes(by avif: CAVIFFunctions) -> [Plane] {
    var info = avifPixelFormatInfo()
    avif.getPixelFormatInfo(yuvFormat, &info)
    let (width, height) = (Int(width), Int(height))
    let chromaWidth = (width + Int(info.chromaShiftX)) >> Int(info.chromaShiftX)
    let chromaHeight = (height + Int(info.chromaShiftY)) >> Int(info.chromaShiftY)
    return [
      Plane(start: yuvPlanes.0, rowBytes: Int(yuvRowBytes.0), width: width, height: height),
      Plane(start: yuvPlanes.1, rowBytes: Int(yuvRowBytes.1), width: chromaWidth, height: chromaHeight),
      Plane(start: yuvPlanes.2, rowBytes: Int(yuvRowBytes.2), width: chromaWidth, height: chromaHeight),
      Plane(start: alphaPlane, rowBytes: Int(alphaRowBytes), width: width, height: height),
    ]
  }
}

private struct Plane {
  /// Nil if the image doesn't have this plane.
  let start: UnsafeMutablePointer<UInt8>?
  let rowBytes: Int
  let width: Int
  let height: Int

  func row(_ y: Int) -> UnsafeMutablePointer<UInt8>? { start.map { $0 + y * rowBytes } }
}
#endif
