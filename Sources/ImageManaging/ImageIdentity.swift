public import ImageCaching
import ImagePrimitives
public import ImageURLs

/// Makes the identity of a request: what a cached image is known by.
///
/// It is the normalised URL. Credentials go into it only as a keyed hash, so that two users' images stay apart and
/// neither secret is ever written down.
public enum ImageIdentity {
  /// The identity of a URL as somebody writes it, under the key of `cache`; throws for what is no URL of an image.
  public static func identity(of url: String, in cache: ImageCache) throws(InvalidURL) -> [UInt8] {
    var normalized: [UInt8] = []
    let parts = try Array(url.utf8).withRawBytes { written throws(InvalidURL) in
      try URLNormalizer().normalize(written, relativeTo: nil, into: &normalized)
    }
    return normalized.withRawBytes { identity(of: $0, parts: parts, hasher: cache.credentialHasher) } ?? normalized
  }

  /// The identity where it differs from the URL itself; nil where the URL is its own identity.
  static func identity(of url: UnsafeRawBufferPointer, parts: URLParts, hasher: CredentialHasher) -> [UInt8]? {
    guard !parts.userInfo.isEmpty else { return nil }
    let userInfo = UnsafeRawBufferPointer(rebasing: url[parts.userInfo])
    return url[..<parts.userInfo.lowerBound] + hasher.digest(userInfo) + url[parts.userInfo.upperBound...]
  }
}
