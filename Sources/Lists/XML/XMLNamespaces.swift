import Glibc

/// The namespaces in scope.
///
/// Expat could resolve them, but it rejects undeclared prefixes. These are a common error, and here such a prefix has
/// its usual meaning.
final class XMLNamespaces {
  /// What a namespace contains; that of the root may be one of the others, too.
  struct Meaning: OptionSet {
    let rawValue: UInt8

    /// The root and its entries, whatever version of their format the namespace names.
    static let root = Meaning(rawValue: 1)
    /// Google's image extension of sitemaps.
    static let image = Meaning(rawValue: 2)
    /// The attributes of products in Google Merchant Center.
    static let product = Meaning(rawValue: 4)
    /// Media RSS.
    static let media = Meaning(rawValue: 8)
    /// Google's video extension of sitemaps.
    static let video = Meaning(rawValue: 16)
  }

  static let maximumCount = 256
  /// The usual prefixes and parts of names. Some sites write names with https, with the host of sitemaps, or without the slash at
  /// their end.
  private static let known: [(prefix: String, name: String, meaning: Meaning)] = [
    ("image", "/schemas/sitemap-image/", .image),
    ("video", "/schemas/sitemap-video/", .video),
    ("g", "base.google.com/ns/1.0", .product),
    ("media", "search.yahoo.com/mrss", .media),
  ]

  private struct Declaration {
    let prefix: [UInt8]
    let name: [UInt8]
    var meaning: Meaning
    let depth: Int
  }

  private var declarations: [Declaration] = []
  private var depth = 0
  private var hasRoot = false
  /// Empty if there is none.
  private var rootName: [UInt8] = []

  /// Adds the declarations of an element; returns false if there are too many.
  func start(_ attributes: XMLElement.Attributes?) -> Bool {
    depth += 1
    var next = attributes
    while let pair = next, let attribute = pair[0], let value = pair[1] {
      if let declared = Self.declaredPrefix(attribute) { declare(declared, as: value) }
      next = pair + 2
    }
    return declarations.count <= Self.maximumCount
  }

  /// Makes the current element the root of the list, with the prefix of its name.
  func setRoot(_ prefix: UnsafeRawBufferPointer) {
    hasRoot = true
    rootName = declaration(of: prefix)?.name ?? []
    for index in declarations.indices {
      if declarations[index].name == rootName {
        declarations[index].meaning.insert(.root)
      } else {
        declarations[index].meaning.remove(.root)
      }
    }
  }

  func end() {
    while declarations.last?.depth == depth { declarations.removeLast() }
    depth -= 1
  }

  /// The meaning of names with a prefix, or of names without one if `prefix` is empty.
  func meaning(of prefix: UnsafeRawBufferPointer) -> Meaning {
    if let declaration = declaration(of: prefix), !declaration.name.isEmpty { return declaration.meaning }
    if !prefix.isEmpty, let usual = Self.known.first(where: { prefix.elementsEqual($0.prefix.utf8) }) { return usual.meaning }
    return rootName.isEmpty ? .root : []
  }

  private func declaration(of prefix: UnsafeRawBufferPointer) -> Declaration? {
    declarations.last { $0.prefix.elementsEqual(prefix) }
  }

  private func declare(_ prefix: UnsafePointer<CChar>, as value: UnsafePointer<CChar>) {
    // One more than the maximum is enough to detect the excess.
    guard declarations.count <= Self.maximumCount else { return }
    let name = Self.bytes(value)
    var meaning: Meaning = hasRoot && name == rootName ? .root : []
    for known in Self.known where strstr(value, known.name) != nil { meaning.insert(known.meaning) }
    declarations.append(Declaration(prefix: Self.bytes(prefix), name: name, meaning: meaning, depth: depth))
  }

  private static func bytes(_ text: UnsafePointer<CChar>) -> [UInt8] {
    [UInt8](UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }

  /// The prefix that an attribute declares, empty for `xmlns`; nil for other attributes.
  private static func declaredPrefix(_ attribute: UnsafePointer<CChar>) -> UnsafePointer<CChar>? {
    for (index, letter) in "xmlns".utf8.enumerated() where UInt8(bitPattern: attribute[index]) != letter { return nil }
    if attribute[5] == 0 { return attribute + 5 }
    return UInt8(bitPattern: attribute[5]) == UInt8(ascii: ":") ? attribute + 6 : nil
  }
}

/// The start of an element; its texts are valid during the parser's call.
struct XMLElement {
  typealias Attributes = UnsafeMutablePointer<UnsafePointer<CChar>?>

  /// The name without its prefix.
  let name: UnsafePointer<CChar>
  let prefix: UnsafeRawBufferPointer
  let attributes: Attributes?
  let line: UInt64

  func isNamed(_ other: StaticString) -> Bool { Self.isEqual(name, other) }

  /// The value of an attribute without a prefix; nil if the element lacks it.
  func attribute(_ name: StaticString) -> UnsafeRawBufferPointer? {
    var next = attributes
    while let pair = next, let attribute = pair[0], let value = pair[1] {
      if Self.isEqual(attribute, name) { return UnsafeRawBufferPointer(start: value, count: strlen(value)) }
      next = pair + 2
    }
    return nil
  }

  private static func isEqual(_ text: UnsafePointer<CChar>, _ other: StaticString) -> Bool {
    strcmp(text, UnsafeRawPointer(other.utf8Start).assumingMemoryBound(to: CChar.self)) == 0
  }
}

extension UnsafeRawBufferPointer {
  /// Returns the bytes without surrounding XML white space.
  func trimmedOfXMLSpace() -> UnsafeRawBufferPointer {
    guard let start = firstIndex(where: { !Self.isXMLSpace($0) }), let last = lastIndex(where: { !Self.isXMLSpace($0) }) else {
      return UnsafeRawBufferPointer(rebasing: self[..<0])
    }
    return UnsafeRawBufferPointer(rebasing: self[start...last])
  }

  static func isXMLSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0a ~= byte || byte == 0x0d }
}
