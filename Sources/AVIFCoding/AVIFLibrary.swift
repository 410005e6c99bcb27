import CAVIF
import ImageCoding

extension CAVIFFunctions {
  /// libavif, which is loaded the first time; throws ``/ImageCoding/ImageError/Kind/unavailable`` where it is not installed.
  static func loaded() throws(ImageError) -> CAVIFFunctions {
    guard let functions = cavif_functions() else {
      let problem = String(cString: cavif_problem())
      // What to do comes first, as some reports cut what is long.
      throw ImageError(
        .unavailable,
        "the image is AVIF; install libavif (Debian: \(CAVIF_PACKAGE)), which cannot be loaded: \(problem)"
      )
    }
    return functions.pointee
  }
}
