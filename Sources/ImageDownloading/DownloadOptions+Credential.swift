import ImageURLs

extension DownloadOptions {
  /// What ``credentials`` give for a request to `url`, a normalised one; nil where they give none, for a URL that has its own, and
  /// for one that is neither http nor https.
  ///
  /// Images of different credentials are different images: this is what a cache tells them apart by. An `Authorization` header of
  /// the options or of the downloader is sent in its place.
  public func credential(for url: UnsafeRawBufferPointer) -> Credential? {
    guard !isForOtherOrigin, let credentials, let parts = URLNormalizer.parts(ofNormalForm: url), parts.userInfo.isEmpty else {
      return nil
    }
    return credentials.fixed ?? URLOrigin(Array(url), parts).credential(from: credentials)
  }
}

extension Credential {
  /// The value of the `Authorization` header that says it (RFC 7617, section 2).
  var basicAuthorization: String { "Basic " + base64(Array("\(user):\(password)".utf8)) }
}

/// Base64 with padding (RFC 4648, section 4).
private func base64(_ bytes: [UInt8]) -> String {
  let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  var text: [UInt8] = []
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let group = bytes[start..<min(start + 3, bytes.count)]
    let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
    for place in 0..<4 { text.append(place <= group.count ? digits[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "=")) }
  }
  return String(decoding: text, as: UTF8.self)
}
