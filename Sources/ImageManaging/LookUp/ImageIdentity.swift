import ImageCaching
import ImageCoding
package import Base

/// Creates the identity of a request, under which its image is cached.
///
/// It is the normalised URL, or its part that a ``KeyRule`` keeps. Credentials are added as a keyed hash only: different users' images
/// have different identities, and secrets are never stored.
package enum ImageIdentity {
  /// The identity if it differs from the URL itself, else nil.
  static func identity(of url: UnsafeRawBufferPointer, parts: URLParts, keyRule: KeyRule, hasher: CredentialHasher) -> [UInt8]? {
    let reduced = keyRule == .url ? nil : keyRule.apply(to: url, parts: parts)
    guard !parts.userInfo.isEmpty else { return reduced }
    let userInfo = UnsafeRawBufferPointer(rebasing: url[parts.userInfo])
    // The rules change only the part after the path.
    let rest = reduced.map { $0[parts.userInfo.upperBound...] } ?? ArraySlice(url[parts.userInfo.upperBound...])
    return url[..<parts.userInfo.lowerBound] + hasher.digest(userInfo) + rest
  }

  /// The identities of a URL as written, in each way of requesting it by `context`: the plain one first, then one for each of
  /// ``LoadOptions/variants``. Throws if it isn't the URL of an image.
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

  /// The identity of the image that these options make from that of `identity`; nil if they don't change it.
  package static func transformed(_ identity: [UInt8], by options: LoadOptions) -> [UInt8]? {
    TransformIdentity(options)?.identity(of: identity)
  }
}

/// Distinguishes images that a context makes from their originals, and from those of other contexts.
struct TransformIdentity: Sendable {
  /// The decoding options, and the keys of the transformer and of the encoding.
  let key: String
  /// Appended to the original's identity: a normalised URL has no fragment.
  private let suffix: [UInt8]

  /// Nil if the options don't change images.
  init?(_ options: LoadOptions) {
    guard options.transformer != nil || options.encoding != nil else { return nil }
    let keys = [options.decoding.key, options.transformer?.key ?? "", options.encoding?.key ?? ""]
    key = keys.filter { !$0.isEmpty }.joined(separator: "-")
    suffix = Array("#transform=\(key)".utf8)
  }

  /// The identity of the image made from that of `identity`.
  func identity(of identity: some Collection<UInt8>) -> [UInt8] { identity + suffix }
}

// Records of transformed images name the bytes that they were made of in place of the server's ETag, since they are never revalidated by
// themselves.
extension Checksum {
  /// The ETag of records of images made of the bytes with this checksum; nil if they weren't hashed.
  var sourceTag: String? {
    self == Checksum(high: 0, low: 0) ? nil : "original-\(hexadecimal)"
  }
}

extension EntryHead {
  /// Whether this transformed image was made of that original: stored with it or later, or made of the same bytes, which a 304 has
  /// confirmed since.
  func isMade(of original: EntryHead, _ details: () throws(CacheError) -> EntryDetails?) throws(CacheError) -> Bool {
    if storedAt >= original.storedAt { return true }
    guard let tag = original.checksum.sourceTag else { return false }
    return try details()?.validators.etag == tag
  }
}

extension DecodingOptions {
  /// Distinguishes images decoded from the same file; empty if it is decoded completely.
  var key: String {
    var parts: [String] = []
    if let thumbnail { parts.append("\(thumbnail.width)x\(thumbnail.height)") }
    if let maximumBytes { parts.append("bytes=\(maximumBytes)") }
    if firstFrameOnly { parts.append("first-frame") }
    return parts.isEmpty ? "" : "decode(\(parts.joined(separator: ",")))"
  }
}
