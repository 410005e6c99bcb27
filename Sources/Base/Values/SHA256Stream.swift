internal import CCrypto

/// The SHA-256 (FIPS 180-4) of bytes that arrive in parts; one thread uses it at a time.
package final class SHA256Stream {
  package static let byteCount = 32

  private let context: OpaquePointer

  package init() {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      fatalError("libcrypto cannot compute SHA-256")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  package func append(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

  /// The digest of all bytes; nothing may be appended after it.
  package func finish() -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    EVP_DigestFinal_ex(context, &digest, nil)
    return Array(digest.prefix(Self.byteCount))
  }
}

package func sha256(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
  let stream = SHA256Stream()
  stream.append(bytes)
  return stream.finish()
}

/// Returns the SHA-1 (FIPS 180-4) of `bytes`, 20 bytes; only for formats that require it.
package func sha1(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
  var count: UInt32 = 0
  guard EVP_Digest(bytes.baseAddress, bytes.count, &digest, &count, EVP_sha1(), nil) == 1 else {
    fatalError("libcrypto cannot compute SHA-1")
  }
  return Array(digest.prefix(Int(count)))
}

/// The hash function of an HMAC (RFC 2104).
package enum HMACFunction: Sendable { case sha1, sha256 }

/// Returns the HMAC of `bytes`: 20 bytes for SHA-1, 32 for SHA-256.
package func hmac(_ function: HMACFunction, key: [UInt8], of bytes: UnsafeRawBufferPointer) -> [UInt8] {
  var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
  var count: UInt32 = 0
  let message = bytes.bindMemory(to: UInt8.self)
  let type = function == .sha1 ? EVP_sha1() : EVP_sha256()
  let result = HMAC(type, key, Int32(key.count), message.baseAddress, message.count, &code, &count)
  // It fails only if libcrypto lacks the function or memory; an identity without its credentials would mix up users.
  guard result != nil else { fatalError("libcrypto cannot compute an HMAC") }
  return Array(code.prefix(Int(count)))
}

extension [UInt8] {
  /// The bytes in Base64 with padding (RFC 4648, section 4), as ASCII.
  package var base64: [UInt8] {
    var text = [UInt8](repeating: 0, count: (count + 2) / 3 * 4 + 1)
    EVP_EncodeBlock(&text, self, Int32(count))
    // Without the null byte.
    return text.dropLast()
  }

  /// The bytes of a text in Base64 with padding; nil for other text.
  package init?(base64 text: [UInt8]) {
    var bytes = [UInt8](repeating: 0, count: text.count)
    let count = Int(EVP_DecodeBlock(&bytes, text, Int32(text.count)))
    // libcrypto decodes padding as zeros, and skips white space around the text.
    self = Array(bytes.prefix(Swift.max(0, count - text.suffix(2).count { $0 == UInt8(ascii: "=") })))
    if base64 != text { return nil }
  }

  /// Appends `bytes` in Base64 that is safe in URLs (RFC 4648, section 5), as ASCII.
  package mutating func append(base64URL bytes: some Collection<UInt8>, isPadded: Bool = false) {
    for digit in Array(bytes).base64 where isPadded || digit != UInt8(ascii: "=") {
      append(digit == UInt8(ascii: "+") ? UInt8(ascii: "-") : digit == UInt8(ascii: "/") ? UInt8(ascii: "_") : digit)
    }
  }
}
