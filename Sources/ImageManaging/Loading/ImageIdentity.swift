public import ImageCaching
import ImagePrimitives
public import ImageURLs

/// Makes the identity of a request: what a cached image is known by.
///
/// It is the normalised URL, or what a ``KeyRule`` leaves of it. Credentials go into it only as a keyed hash, so that two users'
/// images stay apart and neither secret is ever written down.
public enum ImageIdentity {
  /// The identity of a URL as somebody writes it, under the key of `cache`; throws for what is no URL of an image.
  public static func identity(
    of url: String,
    in cache: ImageCache,
    keyRule: KeyRule = .url
  ) throws(InvalidURL) -> [UInt8] {
    var normalized: [UInt8] = []
    let parts = try Array(url.utf8).withRawBytes { written throws(InvalidURL) in
      try URLNormalizer().normalize(written, relativeTo: nil, into: &normalized)
    }
    return normalized.withRawBytes {
      identity(of: $0, parts: parts, keyRule: keyRule, hasher: cache.credentialHasher)
    } ?? normalized
  }

  /// The identity where it differs from the URL itself; nil where the URL is its own identity.
  static func identity(
    of url: UnsafeRawBufferPointer,
    parts: URLParts,
    keyRule: KeyRule,
    hasher: CredentialHasher
  ) -> [UInt8]? {
    let reduced = keyRule == .url ? nil : keyRule.apply(to: url, parts: parts)
    guard !parts.userInfo.isEmpty else { return reduced }
    let userInfo = UnsafeRawBufferPointer(rebasing: url[parts.userInfo])
    // The rules touch only what stands behind the path.
    let rest = reduced.map { $0[parts.userInfo.upperBound...] } ?? ArraySlice(url[parts.userInfo.upperBound...])
    return url[..<parts.userInfo.lowerBound] + hasher.digest(userInfo) + rest
  }

  /// The identity of what a transform makes of the image of `identity`: no normalised URL has a fragment.
  static func identity(of identity: some Collection<UInt8>, transformedBy key: String) -> [UInt8] {
    identity + [UInt8(ascii: "#")] + Array("transform=\(key)".utf8)
  }
}
