/// How a server delivered an image, for advice on its configuration.
package struct DeliveryFacts: Sendable, Hashable {
  /// All `Cache-Control` headers, joined by commas; nil if there is none.
  package var cacheControl: String?
  /// Whether there is an `Expires` header.
  package var hasExpires = false
  /// Whether there is an `ETag` or a `Last-Modified` header.
  package var hasValidator = false
  /// All `Vary` headers, joined by commas; nil if there is none.
  package var vary: String?
  /// When the certificate of the server expires; nil if the connection was open before, or has none.
  package var certificateEnd: Timestamp?

  package init() {}
}
