#if AVIF
  import AVIFCoding
#endif
public import ImageCoding

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
}
