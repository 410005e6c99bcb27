import ImagePrimitives

/// An absolute URL against which relative ones are resolved.
public struct BaseURL: Sendable, Hashable {
  /// The URL in normal form.
  public let bytes: [UInt8]
  /// Where its parts lie in ``bytes``.
  public let parts: URLParts

  /// The base as written; throws for what ``URLNormalizer`` refuses.
  public init(_ written: some StringProtocol) throws(InvalidURL) {
    var bytes: [UInt8] = []
    let text = Array(written.utf8)
    let normalizer = URLNormalizer()
    parts = try text.withRawBytes { written throws(InvalidURL) in
      try normalizer.normalize(written, relativeTo: nil, into: &bytes)
    }
    self.bytes = bytes
  }

  /// A URL that is in normal form already, such as one that answered with a redirect.
  public init(normalized bytes: UnsafeRawBufferPointer, parts: URLParts) {
    self.bytes = Array(bytes)
    self.parts = parts
  }
}
