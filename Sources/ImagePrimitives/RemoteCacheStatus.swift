/// What caches on the way had of an image when it was asked for a second time, by the word of the one nearest to us.
public enum RemoteCacheStatus: String, Sendable, Hashable, CaseIterable {
  /// It had the image, and answered without asking its origin for all of it.
  case hit
  /// It asked for the image behind it.
  case miss
  /// The answer does not tell.
  case unknown
}
