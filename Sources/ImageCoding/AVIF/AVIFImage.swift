#if AVIF
import CAVIF
import Base

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
