/// What a trim removed.
public struct TrimResult: Sendable, Hashable {
  /// Images that were too old.
  public var expired = 0
  /// Images that were removed for the size, those of ``evictedProtected`` included.
  public var trimmed = 0
  /// Images that were removed for the size although the run had stored them itself.
  public var evictedProtected = 0
  /// Bytes of the bodies of all of them.
  public var bytesRemoved = 0

  /// Nothing removed.
  public init() {}
}
