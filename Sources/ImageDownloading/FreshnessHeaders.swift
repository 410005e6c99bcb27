public import ImagePrimitives

/// The headers that say for how long an answer may be used again.
public struct FreshnessHeaders: OptionSet, Sendable, Hashable {
  /// One bit a header.
  public let rawValue: UInt8

  /// The headers of those bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// `Cache-Control`.
  public static let cacheControl = FreshnessHeaders(rawValue: 1)
  /// `Expires`.
  public static let expires = FreshnessHeaders(rawValue: 2)
}

extension DownloadedImage {
  /// For how long a stored answer of the freshness `stored` may be used again, now that this 304 has said that it is still right.
  ///
  /// Headers of the 304 take the stored ones' place, and what it leaves out stays as it was (RFC 9111, sections 3.2 and 4.3.4): so
  /// `no-cache` and `immutable` last, and the stored lifetime begins anew.
  public func freshness(renewing stored: Freshness) -> Freshness {
    if freshnessHeaders.contains(.cacheControl) { return freshness }
    var renewed = stored
    if freshnessHeaders.contains(.expires) { renewed.lifetime = freshness.lifetime }
    return renewed
  }
}
