import CExpat
import Glibc
import Base

/// The encoding of an XML list. Expat reads UTF-8, UTF-16, ISO 8859-1 and US-ASCII; iconv converts others first.
struct XMLEncoding: ~Copyable {
  /// The number of bytes in which to look for a declaration of the encoding.
  private static let openingBytes = 1024
  private static let blockBytes = 16 << 10
  private static let expatNames = ["utf-8", "utf-16", "utf-16be", "utf-16le", "iso-8859-1", "us-ascii"]

  /// The encoding that Expat must use regardless of the declaration; nil means that Expat decides.
  let expatName: String?
  /// The declared encoding, if iconv converts it.
  let declaredName: String?
  /// Whether there were bytes that are invalid in the encoding.
  private(set) var isBroken = false
  private let converter: iconv_t?
  /// An incomplete character.
  private var rest: [UInt8] = []

  /// Whether the first bytes of a text determine its encoding.
  static func isDetermined(by opening: [UInt8]) -> Bool {
    opening.count >= openingBytes || opening.contains(UInt8(ascii: ">"))
  }

  init(of opening: [UInt8]) {
    let name = Self.declaredName(in: opening)
    let lowercased = name?.lowercased() ?? "utf-8"
    var converter: iconv_t?
    if opening.starts(with: [0xfe, 0xff]) || opening.starts(with: [0xff, 0xfe]) {
      // Some files declare another encoding than they are saved in.
      expatName = "UTF-16"
    } else if opening.starts(with: [0xef, 0xbb, 0xbf]) || lowercased == "utf8" {
      expatName = "UTF-8"
    } else if Self.expatNames.contains(lowercased) {
      expatName = nil
    } else {
      // Expat reports an encoding that iconv doesn't know either.
      converter = name.flatMap { iconv_open("UTF-8", $0) }
      if converter == iconv_t(bitPattern: -1) { converter = nil }
      expatName = converter == nil ? nil : "UTF-8"
    }
    declaredName = name
    self.converter = converter
  }

  deinit {
    if let converter { iconv_close(converter) }
  }

  /// Whether bytes must be converted.
  var isConverted: Bool { converter != nil }

  /// Returns UTF-8 of the next bytes, as far as they are valid.
  mutating func convert(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> [UInt8] {
    var text: [UInt8] = []
    var source = rest + bytes
    let left = source.withUnsafeMutableBytes { (source: UnsafeMutableRawBufferPointer) -> Int in
      var next = source.bindMemory(to: CChar.self).baseAddress
      var left = source.count
      while left > 0, append(&next, &left, to: &text) {}
      return left
    }
    rest = Array(source.suffix(left))
    if isLast, !rest.isEmpty { isBroken = true }
    return text
  }

  /// Converts a block; returns false if the rest must wait or is invalid.
  private mutating func append(_ next: inout UnsafeMutablePointer<CChar>?, _ left: inout Int, to text: inout [UInt8]) -> Bool {
    var result = 0
    var problem: Int32 = 0
    let block = [UInt8](unsafeUninitializedCapacity: Self.blockBytes) { block, count in
      block.withMemoryRebound(to: CChar.self) { block in
        var end = block.baseAddress
        var room = block.count
        result = iconv(converter, &next, &left, &end, &room)
        problem = errno
        count = block.count - room
      }
    }
    text += block
    guard result == -1 else { return true }
    if problem == EILSEQ { isBroken = true }
    return problem == E2BIG
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
