public import ImageCoding
public import ImagePrimitives

/// What a manager's user decides by code of their own.
///
/// A hook is called on whatever thread the load is on, under no lock, and may be called for several loads at once. It is to be quick:
/// others wait for it. URLs are as they were first written, credentials included.
public struct LoadHooks: Sendable {
  /// Whether an image that is not cached, or is to be refreshed, is asked for. False on a miss ends the load without image and
  /// without error, as ``/ImagePrimitives/Outcome/skipped``; false on a refresh serves what is cached.
  public var shouldDownload: (@Sendable (_ url: String) -> Bool)?
  /// Whether a failure is remembered on the blacklist: overrides ``BlacklistRules``.
  public var shouldBlockFailedURL: (@Sendable (_ url: String, _ failure: Failure) -> Bool)?
  /// The identity that an image is cached under, in place of the URL's own. Text that holds a secret must not come out of it.
  public var cacheKeyFilter: (@Sendable (_ url: String) -> String)?
  /// The bytes that go to disk, in place of those that came; nil: none do.
  ///
  /// `data` is nil for a transformed image, which has no bytes of its own: without a serializer or ``LoadOptions/encoding`` it stays in memory. `image` is there where
  /// the load decodes. What comes out must be an image of a format that can be probed.
  public var cacheSerializer: (@Sendable (_ url: String, _ image: DecodedImage?, _ data: [UInt8]?) -> [UInt8]?)?

  /// Hooks, of which none is set unless given.
  public init(
    shouldDownload: (@Sendable (_ url: String) -> Bool)? = nil,
    shouldBlockFailedURL: (@Sendable (_ url: String, _ failure: Failure) -> Bool)? = nil,
    cacheKeyFilter: (@Sendable (_ url: String) -> String)? = nil,
    cacheSerializer: (@Sendable (_ url: String, _ image: DecodedImage?, _ data: [UInt8]?) -> [UInt8]?)? = nil
  ) {
    self.shouldDownload = shouldDownload
    self.shouldBlockFailedURL = shouldBlockFailedURL
    self.cacheKeyFilter = cacheKeyFilter
    self.cacheSerializer = cacheSerializer
  }
}
