import ImageCaching
import ImageDownloading
import Base

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
      guard let identity = Self.identity(of: request, in: bytes, context: context, hasher: context.credentialHasher) else {
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
    hasher: CredentialHasher
  ) -> [UInt8]? {
    let plain = plainIdentity(of: request, in: bytes, context: context, hasher: hasher)
    let url = UnsafeRawBufferPointer(rebasing: bytes[request.requestRange])
    guard let suffix = context.identitySuffix(request.variant, for: url) else { return plain }
    return (plain ?? Array(url)) + suffix
  }

  private static func plainIdentity(
    of request: BatchEntry,
    in bytes: UnsafeRawBufferPointer,
    context: LoadContext,
    hasher: CredentialHasher
  ) -> [UInt8]? {
    if let filter = context.options.hooks.cacheKeyFilter {
      let key = Array(filter(String(decoding: bytes[request.writtenRange], as: UTF8.self)).utf8)
      return key.withRawBytes { withoutSecret($0, hasher) } ?? key
    }
    let url = UnsafeRawBufferPointer(rebasing: bytes[request.requestRange])
    // The parts of a URL that only a loader knows are undefined.
    if request.parts.count == 0 { return withoutSecret(url, hasher) }
    let identity = ImageIdentity.identity(of: url, parts: request.parts, keyRule: context.options.keyRule, hasher: hasher)
    // Users with different credentials may get different images.
    guard let credential = context.download(request.variant).credential(for: url) else { return identity }
    let digest = Array("\(credential.user):\(credential.password)".utf8).withRawBytes { hasher.digest($0) }
    return (identity ?? Array(url)) + Array("#credentials=".utf8) + digest
  }

  /// A text with the credentials replaced by their hash; nil if it has none.
  private static func withoutSecret(_ text: UnsafeRawBufferPointer, _ hasher: CredentialHasher) -> [UInt8]? {
    let masked = maskingCredentials(text)
    if masked.elementsEqual(text) { return nil }
    return masked + Array("#credentials=".utf8) + hasher.digest(text)
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
    let identity = Self.identity(of: entries[index], in: bytes, context: context, hasher: hasher)
    guard let identity else { return try withIdentity(index, body) }
    return try identity.withRawBytes(body)
  }

  /// Calls `body` with the URL as it was first written.
  func withWrittenURL<R, E: Error>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try body(UnsafeRawBufferPointer(rebasing: bytes[entries[index].writtenRange]))
  }
}
