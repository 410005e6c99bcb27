import CCrypto
import Base

/// File names as SDWebImage creates them: MD5 of the URL as first written, in hexadecimal, with or without an extension.
///
/// The rules are those of `SDDiskCacheFileNameForKey` in its `SDDiskCache.m`. The extension is that of the URL's path after
/// percent-decoding, or of the whole text if Foundation doesn't accept it as a URL. Both differ between versions, so look-ups try
/// ``candidates(forURL:)``; all versions find a name without extension.
enum AppFileName {
  static let digitCount = 32
  /// SD_MAX_FILE_EXTENSION_LENGTH: NAME_MAX without the digits and a dot; longer extensions are omitted. SDWebImage counts UTF-16
  /// units, this code bytes, which is how Linux limits names.
  private static let longestExtension = 255 - digitCount - 1

  /// MD5 (RFC 1321) as 32 digits; nil if libcrypto refuses to compute it, as in FIPS mode.
  static func digits(of url: UnsafeRawBufferPointer) -> String? {
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard EVP_Digest(url.baseAddress, url.count, &digest, &count, EVP_md5(), nil) == 1 else { return nil }
    return hexadecimal(digest.prefix(Int(count)))
  }

  /// All names that versions of SDWebImage may have given the file, the likeliest first; nil as for ``digits(of:)``.
  static func candidates(forURL url: UnsafeRawBufferPointer) -> [String]? {
    guard let digits = digits(of: url) else { return nil }
    let path = path(of: url)
    var names = [digits]
    for text in [decodingPercents(path), Array(path), Array(url)] {
      guard let text, let name = name(digits, pathExtension: pathExtension(of: text)), !names.contains(name) else { continue }
      names.append(name)
    }
    return names
  }

  /// The name with the extension of the URL's path, if it has one that fits; nil as for ``digits(of:)``.
  static func nameWithExtension(forURL url: UnsafeRawBufferPointer) -> String? {
    guard let digits = digits(of: url) else { return nil }
    return decodingPercents(path(of: url)).flatMap { name(digits, pathExtension: pathExtension(of: $0)) } ?? digits
  }

  private static func name(_ digits: String, pathExtension: [UInt8]) -> String? {
    // SDSanitizeFileNameString removes the two bytes that file names can't have on Apple's systems.
    let sane = pathExtension.filter { $0 != 0 && $0 != UInt8(ascii: ":") }
    guard !sane.isEmpty, !sane.contains(UInt8(ascii: "/")), let text = String(validating: sane, as: UTF8.self) else { return nil }
    return sane.count <= longestExtension ? "\(digits).\(text)" : nil
  }

  /// The text after the last dot of the last component, by the rules of Foundation's `pathExtension`: empty if the dot begins or
  /// ends the component, or if that text has a space or a mark of writing direction.
  static func pathExtension(of path: [UInt8]) -> [UInt8] {
    let end = path.lastIndex { $0 != UInt8(ascii: "/") }.map { $0 + 1 } ?? 0
    let start = path[..<end].lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    let component = path[start..<end]
    guard let dot = component.lastIndex(of: UInt8(ascii: ".")), dot > start, dot + 1 < end else { return [] }
    let dots = component.prefix(2)
    if dots.count == 2 && dots.allSatisfy({ $0 == UInt8(ascii: ".") }) { return [] }
    let found = Array(component[(dot + 1)...])
    return String(decoding: found, as: UTF8.self).unicodeScalars.contains(where: isRefused) ? [] : found
  }

  private static func isRefused(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20, 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// The path of a URL: from the end of the authority to the query or fragment.
  private static func path(of url: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
    let end = url.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? url.count
    let whole = url[..<end]
    guard let colon = whole.firstIndex(of: UInt8(ascii: ":")), whole[(colon + 1)...].starts(with: "//".utf8) else { return whole }
    return whole[(colon + 3)...].drop { $0 != UInt8(ascii: "/") }
  }

  /// The percent-decoded bytes; nil if a percent sign begins no encoding.
  private static func decodingPercents(_ bytes: Slice<UnsafeRawBufferPointer>) -> [UInt8]? {
    var decoded: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      if bytes[index] == UInt8(ascii: "%") {
        guard index + 2 < bytes.endIndex, let high = value(ofDigit: bytes[index + 1]), let low = value(ofDigit: bytes[index + 2])
        else { return nil }
        decoded.append(high << 4 | low)
        index += 3
      } else {
        decoded.append(bytes[index])
        index += 1
      }
    }
    return decoded
  }

  private static func value(ofDigit digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
