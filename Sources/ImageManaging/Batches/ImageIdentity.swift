import ImageCaching
import ImageCoding
import ImagePrimitives
package import ImageURLs

/// Makes the identity of a request: what a cached image is known by.
///
/// It is the normalised URL, or what a ``KeyRule`` leaves of it. Credentials go into it only as a keyed hash, so that two users'
/// images stay apart and neither secret is ever written down.
package enum ImageIdentity {
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

  /// The identities of a URL as somebody writes it, asked for in each of the ways of `context`: the plain one first, then one for each of
  /// ``LoadOptions/variants``; throws for what is no URL of an image.
  package static func identities(of url: String, by context: LoadContext) throws(InvalidURL) -> [[UInt8]] {
    var normalized: [UInt8] = []
    let parts = try Array(url.utf8).withRawBytes { written throws(InvalidURL) in
      try URLNormalizer().normalize(written, relativeTo: nil, into: &normalized)
    }
    let entries = (0...UInt16(context.options.variants.count)).map { variant in
      BatchEntry(variant: variant, parts: parts, requestRange: normalized.indices)
    }
    return normalized.withRawBytes { bytes in
      let identities = RequestIdentities(entries, in: bytes, context: context)
      return entries.indices.map { index in identities.withIdentity(index) { Array($0) } }
    }
  }

  /// The identity of what loads with these options make of the image of `identity`; nil where they leave it as it is.
  package static func transformed(_ identity: [UInt8], by options: LoadOptions) -> [UInt8]? {
    TransformIdentity(options)?.identity(of: identity)
  }
}

/// What tells images that a context makes from those that it makes them of, and from those of others.
struct TransformIdentity: Sendable {
  /// What is wanted of the pixels, and the keys of the transformer and of the encoding.
  let key: String
  /// What goes behind the original's identity: no normalised URL has a fragment.
  private let suffix: [UInt8]

  /// nil if the options make nothing of images.
  init?(_ options: LoadOptions) {
    guard options.transformer != nil || options.encoding != nil else { return nil }
    let keys = [options.decoding.key, options.transformer?.key ?? "", options.encoding?.key ?? ""]
    key = keys.filter { !$0.isEmpty }.joined(separator: "-")
    suffix = Array("#transform=\(key)".utf8)
  }

  /// The identity of what is made of the image of `identity`.
  func identity(of identity: some Collection<UInt8>) -> [UInt8] { identity + suffix }
}

extension DecodingOptions {
  /// What tells images apart that were decoded of the same file; empty where all of it was.
  var key: String {
    var parts: [String] = []
    if let thumbnail { parts.append("\(thumbnail.width)x\(thumbnail.height)") }
    if let maximumBytes { parts.append("bytes=\(maximumBytes)") }
    if firstFrameOnly { parts.append("first-frame") }
    return parts.isEmpty ? "" : "decode(\(parts.joined(separator: ",")))"
  }
}
