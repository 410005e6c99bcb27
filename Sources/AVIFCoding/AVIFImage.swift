import CAVIF
import ImageCoding

extension avifImage {
  /// The EXIF orientation, 1…8, that turns and mirrors as `irot` and `imir` do: first anti-clockwise in quarters, then along an axis (ISO/IEC
  /// 23000-22, section 7.3.6.7).
  ///
  /// EXIF's own is not looked at: the boxes are what counts, and say the same in files of careful encoders.
  var exifOrientation: Int {
    let angle = transformFlags & AVIF_TRANSFORM_IROT.rawValue != 0 ? Int(irot.angle & 3) : 0
    guard transformFlags & AVIF_TRANSFORM_IMIR.rawValue != 0 else { return [1, 8, 3, 6][angle] }
    // Mode 0 exchanges top and bottom, mode 1 left and right.
    return imir.mode == 0 ? [4, 5, 2, 7][angle] : [2, 7, 4, 5][angle]
  }

  /// How samples make colours.
  var colorSpace: ImageHeader.ColorSpace? {
    switch yuvFormat {
    case AVIF_PIXEL_FORMAT_NONE: nil
    case AVIF_PIXEL_FORMAT_YUV400: .gray
    default: Int(matrixCoefficients) == Int(AVIF_MATRIX_COEFFICIENTS_IDENTITY) ? .rgb : .ycbcr
    }
  }
}
