import ImageCaching
import ImageCoding
import ImagePrimitives
import ImageURLs

/// Makes the identity of a request: what a cached image is known by.
///
/// It is the normalised URL, or what a ``KeyRule`` leaves of it. Credentials go into it only as a keyed hash, so that two users'
/// images stay apart and neither secret is ever written down.
public enum ImageIdentity {
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
}

/// What tells images that a context makes from those that it makes them of, and from those of others.
struct TransformIdentity: Sendable {
  /// What is wanted of the pixels, and the keys of the transformer and of the encoding.
  let key: String
  /// What goes behind the original's identity: no normalised URL has a fragment.
  private let suffix: [UInt8]

  /// nil where the parts make nothing of images.
  init?(_ parts: LoadContext.Parts) {
    guard parts.transformer != nil || parts.encoding != nil else { return nil }
    let keys = [parts.decoding.key, parts.transformer?.key ?? "", parts.encoding?.key ?? ""]
    key = keys.filter { !$0.isEmpty }.joined(separator: "-")
    suffix = Array("#transform=\(key)".utf8)
  }

  /// The identity of what is made of the image of `identity`.
  func identity(of identity: some Collection<UInt8>) -> [UInt8] { identity + suffix }
}
