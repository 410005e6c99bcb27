/// What a decoded image is found by in memory: the namespace, the image, and what was done to it.
///
/// Two namespaces share nothing, and an image stands beside its own thumbnails and transforms.
public struct MemoryKey: Hashable, Sendable {
  /// The namespace of the cache that the image belongs to.
  public let namespace: String

  /// The key of the image as it came, the same as on disk.
  public let image: CacheKey

  /// How the image was decoded and transformed, in the words of whoever does that; empty for the image as it came.
  public let processing: String

  /// The key of an image, by default as it came.
  public init(namespace: String, image: CacheKey, processing: String = "") {
    self.namespace = namespace
    self.image = image
    self.processing = processing
  }
}
