import Base

/// The headers of Standard Webhooks (standardwebhooks.com): receivers know retries by the id, and verify the rest by the signature.
struct WebhookSignature {
  let id: String
  let key: [UInt8]?

  /// The headers of an attempt at that time.
  func headers(_ body: String, at time: Timestamp) -> [String] {
    let seconds = time.milliseconds / 1000
    let signature = key.map { key in
      let code = Array("\(id).\(seconds).\(body)".utf8).withRawBytes { hmac(.sha256, key: key, of: $0) }
      return "webhook-signature: v1,\(String(decoding: code.base64, as: UTF8.self))"
    }
    return ["webhook-id: \(id)", "webhook-timestamp: \(seconds)"] + (signature.map { [$0] } ?? [])
  }
}

extension Notice {
  /// The key of a secret: the bytes in Base64 after `whsec_`, nil if they aren't, or those of any other text.
  package static func signingKey(_ secret: String) -> [UInt8]? {
    guard secret.hasPrefix("whsec_") else { return Array(secret.utf8) }
    return Array(base64: Array(secret.utf8.dropFirst("whsec_".utf8.count))).flatMap { $0.isEmpty ? nil : $0 }
  }
}
