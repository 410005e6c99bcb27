import Base

/// The encoding of an XML list. Expat reads UTF-8, UTF-16, ISO 8859-1 and US-ASCII; iconv converts others first.
struct XMLEncoding {
  /// The number of bytes in which to look for a declaration of the encoding.
  private static let openingBytes = 1024
  private static let expatNames = ["utf-8", "utf-16", "utf-16be", "utf-16le", "iso-8859-1", "us-ascii"]

  /// The encoding that Expat must use regardless of the declaration; nil means that Expat decides.
  let expatName: String?
  let declaredName: String?
  /// Converts bytes before Expat reads them; nil if that isn't needed.
  private(set) var converter: TextConverter?

  /// Whether the first bytes of a text determine its encoding.
  static func isDetermined(by opening: [UInt8]) -> Bool {
    opening.count >= openingBytes || opening.contains(UInt8(ascii: ">"))
  }

  init(of opening: [UInt8]) {
    let name = Self.declaredName(in: opening)
    let lowercased = name?.lowercased() ?? "utf-8"
    if opening.starts(with: [0xfe, 0xff]) || opening.starts(with: [0xff, 0xfe]) {
      // Some files declare another encoding than they are saved in.
      expatName = "UTF-16"
    } else if opening.starts(with: [0xef, 0xbb, 0xbf]) || lowercased == "utf8" {
      expatName = "UTF-8"
    } else if Self.expatNames.contains(lowercased) {
      expatName = nil
    } else {
      // Expat reports an encoding that iconv doesn't know either.
      converter = name.flatMap { TextConverter(from: $0, replacesInvalid: false) }
      expatName = converter == nil ? nil : "UTF-8"
    }
    declaredName = name
  }

  /// The encoding that an XML declaration names (XML 1.0, section 2.8).
  private static func declaredName(in opening: [UInt8]) -> String? {
    guard opening.starts(with: "<?xml".utf8), let end = opening.firstIndex(of: UInt8(ascii: ">")) else { return nil }
    let isSpace = { (byte: UInt8) in [0x20, 0x09, 0x0a, 0x0d].contains(byte) }
    let declaration = opening[..<end]
    let key = "encoding".utf8
    guard let start = declaration.indices.first(where: { declaration[$0...].starts(with: key) }) else { return nil }
    var rest = declaration[start...].dropFirst(key.count).drop(while: isSpace)
    guard rest.popFirst() == UInt8(ascii: "=") else { return nil }
    rest = rest.drop(while: isSpace)
    guard let quote = rest.popFirst(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
      let close = rest.firstIndex(of: quote)
    else { return nil }
    let isOfName = { (byte: UInt8) in
      0x61...0x7a ~= byte | 0x20 || 0x30...0x39 ~= byte || [0x2d, 0x2e, 0x5f].contains(byte)
    }
    // iconv would also accept a suffix after a slash, such as //TRANSLIT.
    guard rest[..<close].allSatisfy(isOfName) else { return nil }
    return String(decoding: rest[..<close], as: UTF8.self)
  }
}
