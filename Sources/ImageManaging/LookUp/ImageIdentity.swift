import ImageCaching
import ImageCoding
package import Base
import ImageDownloading

/// Who may get an image that a request with credentials brought (RFC 9111, section 3.5).
enum ImageAudience {
  /// Requests with the same credentials, which the hasher hides.
  case sender(CredentialHasher)
  /// Requests with any credentials, since the response allows it.
  case anySender
  /// All requests, since the caller wants it: ``/ImageDownloading/DownloadOptions/sharesAcrossCredentials``.
  case everyone

  /// What an identity has in place of credentials; nil for nothing.
  func mark(_ credentials: UnsafeRawBufferPointer) -> [UInt8]? {
    switch self {
    case .sender(let hasher): hasher.digest(credentials)
    case .anySender: Array("any".utf8)
    case .everyone: nil
    }
  }
}

/// The identity of a cached image, with its key.
struct ImageName: Sendable {
  let key: CacheKey
  let identity: [UInt8]

  init(_ identity: [UInt8]) {
    key = identity.withRawBytes { CacheKey(identity: $0) }
    self.identity = identity
  }

  init(key: CacheKey, identity: [UInt8]) { (self.key, self.identity) = (key, identity) }
}

/// Creates the identity of a request, under which its image is cached. It is the normalised URL, or its part that a ``KeyRule``
/// keeps. Credentials are added as a keyed hash only: images of different users have different identities, and no secret is stored.
package enum ImageIdentity {
  /// The identity if it differs from the URL itself, else nil.
  static func identity(
    of url: UnsafeRawBufferPointer,
    parts: URLParts,
    keyRule: KeyRule,
    audience: ImageAudience
  ) -> [UInt8]? {
    let reduced = keyRule == .url ? nil : keyRule.apply(to: url, parts: parts)
    guard !parts.userInfo.isEmpty else { return reduced }
    let mark = audience.mark(UnsafeRawBufferPointer(rebasing: url[parts.userInfo]))
    // The rules change only the part after the path. Without a mark the `@` goes, too.
    let end = parts.userInfo.upperBound + (mark == nil ? 1 : 0)
    let rest = reduced.map { $0[end...] } ?? ArraySlice(url[end...])
    return url[..<parts.userInfo.lowerBound] + (mark ?? []) + rest
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
  var sourceTag: String? { self == Checksum(high: 0, low: 0) ? nil : "original-\(hexadecimal)" }
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

/// The identities and keys of a batch's requests; stores only identities that differ from their URL.
struct RequestIdentities {
  let keys: [CacheKey]
  private let entries: [BatchEntry]
  private let bytes: UnsafeRawBufferPointer
  private let context: LoadContext
  private let others: [Int: [UInt8]]

  init(_ entries: [BatchEntry], in bytes: UnsafeRawBufferPointer, context: LoadContext) {
    self.entries = entries
    self.bytes = bytes
    self.context = context
    var others: [Int: [UInt8]] = [:]
    let areURLs = context.usesURLsAsIdentities
    keys = entries.indices.map { index in
      let request = entries[index]
      if areURLs, request.variant == 0, request.parts.count > 0, request.parts.userInfo.isEmpty {
        return CacheKey(identity: UnsafeRawBufferPointer(rebasing: bytes[request.requestRange]))
      }
      guard let identity = Self.identity(of: request, in: bytes, context: context, context.audience) else {
        return CacheKey(identity: UnsafeRawBufferPointer(rebasing: bytes[request.requestRange]))
      }
      others[index] = identity
      return identity.withRawBytes { CacheKey(identity: $0) }
    }
    self.others = others
  }

  private static func identity(
    of request: BatchEntry,
    in bytes: UnsafeRawBufferPointer,
    context: LoadContext,
    _ audience: ImageAudience
  ) -> [UInt8]? {
    let plain = plainIdentity(of: request, in: bytes, context: context, audience)
    let url = UnsafeRawBufferPointer(rebasing: bytes[request.requestRange])
    guard let suffix = context.identitySuffix(request.variant, for: url) else { return plain }
    return (plain ?? Array(url)) + suffix
  }

  private static func plainIdentity(
    of request: BatchEntry,
    in bytes: UnsafeRawBufferPointer,
    context: LoadContext,
    _ audience: ImageAudience
  ) -> [UInt8]? {
    if let filter = context.options.hooks.cacheKeyFilter {
      let key = Array(filter(String(decoding: bytes[request.writtenRange], as: UTF8.self)).utf8)
      return key.withRawBytes { withoutSecret($0, audience) } ?? key
    }
    let url = UnsafeRawBufferPointer(rebasing: bytes[request.requestRange])
    // The parts of a URL that only a loader knows are undefined.
    if request.parts.count == 0 { return withoutSecret(url, audience) }
    let identity = ImageIdentity.identity(of: url, parts: request.parts, keyRule: context.options.keyRule, audience: audience)
    guard let sender = context.sender(request.variant, of: url) else { return identity }
    guard let mark = Array(sender.utf8).withRawBytes(audience.mark) else { return identity }
    return (identity ?? Array(url)) + Array("#credentials=".utf8) + mark
  }

  /// A text with the credentials replaced by their hash; nil if it has none.
  private static func withoutSecret(_ text: UnsafeRawBufferPointer, _ audience: ImageAudience) -> [UInt8]? {
    let masked = maskingCredentials(text)
    if masked.elementsEqual(text) { return nil }
    guard let mark = audience.mark(text) else { return masked }
    return masked + Array("#credentials=".utf8) + mark
  }

  /// The identity of the same image if its response allowed it for any credentials; nil if the request has none.
  func shared(_ index: Int) -> ImageName? {
    guard let own = others[index], case .sender = context.audience else { return nil }
    let shared = Self.identity(of: entries[index], in: bytes, context: context, .anySender)
    return shared == own ? nil : shared.map { ImageName($0) }
  }

  var areURLs: Bool { others.isEmpty }
  func other(_ index: Int) -> [UInt8]? { others[index] }

  func withIdentity<R, E: Error>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    guard !others.isEmpty, let identity = others[index] else {
      return try body(UnsafeRawBufferPointer(rebasing: bytes[entries[index].requestRange]))
    }
    return try identity.withRawBytes(body)
  }

  /// Calls `body` with the request's identity in another cache, which hashes credentials with another key.
  func withIdentity<R, E: Error>(
    _ index: Int,
    hashedBy hasher: CredentialHasher,
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    guard others[index] != nil else { return try withIdentity(index, body) }
    let audience = if case .sender = context.audience { ImageAudience.sender(hasher) } else { context.audience }
    let identity = Self.identity(of: entries[index], in: bytes, context: context, audience)
    guard let identity else { return try withIdentity(index, body) }
    return try identity.withRawBytes(body)
  }

  /// Calls `body` with the URL as it was first written.
  func withWrittenURL<R, E: Error>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try body(UnsafeRawBufferPointer(rebasing: bytes[entries[index].writtenRange]))
  }
}
