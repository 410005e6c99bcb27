import CAVIF
import ImageCoding

extension CAVIFFunctions {
  /// libavif, which is loaded the first time; throws ``/ImageCoding/ImageError/Kind/unavailable`` where it is not installed.
  static func loaded() throws(ImageError) -> CAVIFFunctions {
    guard let functions = cavif_functions() else {
      let problem = String(cString: cavif_problem())
      throw ImageError(
        .unavailable,
        "the image is AVIF, and what decodes it cannot be loaded (\(problem)); install libavif (Debian: \(CAVIF_PACKAGE))"
      )
    }
    return functions.pointee
  }
}
