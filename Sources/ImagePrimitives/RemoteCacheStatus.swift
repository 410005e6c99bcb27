/// What caches on the way had of an image when it was asked for a second time, by the answer's own word.
public enum RemoteCacheStatus: String, Sendable, Hashable, CaseIterable {
  /// A cache had it, and answered without asking its origin for all of it.
  case hit
  /// No cache had it.
  case miss
  /// The answer does not tell.
  case unknown
}
