#if AVIF
  import AVIFCoding
#endif
public import ImageCoding
import ImagePrimitives

extension ImageCoderRegistry {
  /// All coders that were built in: ``/ImageCoding/ImageCoderRegistry/standard``, and AVIF unless the package was built without it.
  public static let available: ImageCoderRegistry = {
    #if AVIF
      var registry = ImageCoderRegistry.standard
      registry.add(AVIFCoder())
      return registry
    #else
      return .standard
    #endif
  }()

  /// The value of `Accept` that asks for what these coders read best: AVIF where they do, WebP, and any other image.
  public var acceptedTypes: String {
    let modern = [ImageFormat.avif, .webp].filter { coder(for: $0) != nil }.map(\.mediaType)
    return (modern + ["image/*;q=0.8"]).joined(separator: ",")
  }
}
