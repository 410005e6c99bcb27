import Platform
import Base

/// The data in a URL (RFC 2397), as browsers decode it (WHATWG Fetch, "data: URL processor").
struct SVGDataURL {
  private let data: UnsafeRawBufferPointer
  private let isBase64: Bool

  /// Parses a URL, which must outlive this; nil if it isn't a data URL.
  init?(_ url: UnsafePointer<CChar>) {
    let text = UnsafeRawBufferPointer(start: url, count: strlen(url))
    let bytes = UnsafeRawBufferPointer(rebasing: text.drop { $0.isASCIIWhitespace })
    guard ByteView(bytes).matchesIgnoringCase("data:") else { return nil }
    let comma = bytes.firstIndex(of: UInt8(ascii: ",")) ?? bytes.count
    data = UnsafeRawBufferPointer(rebasing: bytes[min(comma + 1, bytes.count)...])
    isBase64 = String(decoding: bytes[..<comma].filter { !$0.isASCIIWhitespace }, as: UTF8.self).lowercased().hasSuffix(";base64")
  }

  /// The decoded bytes; nil if they are invalid Base64.
  var bytes: [UInt8]? {
    guard data.contains(UInt8(ascii: "%")) else { return isBase64 ? Self.decodeBase64(data) : Array(data) }
    let bytes = data.withoutPercentEncoding
    return isBase64 ? bytes.withUnsafeBytes(Self.decodeBase64) : bytes
  }

  /// Values of Base64 digits (RFC 4648, section 4); 64 for white space, 255 for other bytes.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, digit) in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8.enumerated() {
      values[Int(digit)] = UInt8(value)
    }
    for space: UInt8 in [0x09, 0x0A, 0x0C, 0x0D, 0x20] { values[Int(space)] = 64 }
    return values
  }()

  /// Decodes with or without padding (WHATWG Infra, "forgiving-base64 decode").
  private static func decodeBase64(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
    var end = text.count
    var padding = 0
    while end > 0, text[end - 1] == UInt8(ascii: "=") || text[end - 1].isASCIIWhitespace {
      padding += text[end - 1] == UInt8(ascii: "=") ? 1 : 0
      end -= 1
    }
    var (bits, digits, isValid) = (UInt32(0), 0, true)
    let bytes = [UInt8](unsafeUninitializedCapacity: end / 4 * 3 + 3) { output, count in
      values.withUnsafeBufferPointer { values in
        for byte in text[..<end] {
          let value = values[Int(byte)]
          if value == 64 { continue }
          guard value < 64 else {
            isValid = false
            return
          }
          bits = bits << 6 | UInt32(value)
          digits += 1
          guard digits & 3 == 0 else { continue }
          output[count] = UInt8(truncatingIfNeeded: bits >> 16)
          output[count + 1] = UInt8(truncatingIfNeeded: bits >> 8)
          output[count + 2] = UInt8(truncatingIfNeeded: bits)
          count += 3
        }
        let left = digits & 3
        if left > 1 {
          output[count] = UInt8(truncatingIfNeeded: bits >> (left == 2 ? 4 : 10))
          if left == 3 { output[count + 1] = UInt8(truncatingIfNeeded: bits >> 2) }
          count += left - 1
        }
      }
    }
    guard isValid, digits & 3 != 1, padding == 0 || digits & 3 + padding == 4 else { return nil }
    return bytes
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes with `%XX` decoded.
  fileprivate var withoutPercentEncoding: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    var offset = 0
    while offset < count {
      if self[offset] == UInt8(ascii: "%"), offset + 2 < count, let high = self[offset + 1].hexadecimalDigit,
        let low = self[offset + 2].hexadecimalDigit
      {
        bytes.append(high << 4 | low)
        offset += 3
      } else {
        bytes.append(self[offset])
        offset += 1
      }
    }
    return bytes
  }
}

extension UInt8 {
  fileprivate var hexadecimalDigit: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): asciiLowercased - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
