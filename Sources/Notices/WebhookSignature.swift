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
    let digits = secret.utf8.dropFirst("whsec_".utf8.count)
    var (key, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
    for digit in digits.prefix(while: { $0 != UInt8(ascii: "=") }) {
      guard let value = digit.base64Value else { return nil }
      (bits, count) = (bits << 6 | value, count + 6)
      guard count >= 8 else { continue }
      count -= 8
      key.append(UInt8(truncatingIfNeeded: bits >> count))
    }
    // Whole bytes only, which also rejects text with a misplaced padding.
    return key.isEmpty || digits.count % 4 != 0 || !(key.base64.elementsEqual(digits)) ? nil : key
  }
}

extension UInt8 {
  fileprivate var base64Value: UInt32? {
    switch self {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(self) - 65
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(self) - 71
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(self) + 4
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
