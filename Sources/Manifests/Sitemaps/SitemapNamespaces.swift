import Glibc

/// The namespaces that are declared where the parser stands.
///
/// Expat could tell them, but refuses a prefix that is not declared: a common mistake, which means here what it is called.
struct SitemapNamespaces {
  enum Meaning {
    /// That of the root and so of its entries, whatever version of sitemaps it names.
    case sitemap
    /// That of Google's image extension.
    case image
    case other
  }

  typealias Attributes = UnsafeMutablePointer<UnsafePointer<CChar>?>

  static let maximumCount = 256
  /// Part of the name of the image extension's, which some write with https.
  private static let imageName = "google.com/schemas/sitemap-image/"

  private struct Declaration {
    let prefix: [UInt8]
    let name: [UInt8]
    let isImage: Bool
    let depth: Int
  }

  private var declarations: [Declaration] = []
  private var depth = 0
  /// Empty: none.
  private var rootName: [UInt8] = []

  /// Takes what an element declares; false where that is too much.
  mutating func start(_ attributes: Attributes?, prefix: UnsafeRawBufferPointer) -> Bool {
    depth += 1
    var next = attributes
    while let pair = next, let attribute = pair[0], let value = pair[1] {
      if let declared = Self.declaredPrefix(attribute) { declare(declared, as: value) }
      next = pair + 2
    }
    if depth == 1 { rootName = declaration(of: prefix)?.name ?? [] }
    return declarations.count <= Self.maximumCount
  }

  mutating func end() {
    while declarations.last?.depth == depth { declarations.removeLast() }
    depth -= 1
  }

  /// What names with a prefix belong to, or, where it is empty, those without one.
  func meaning(of prefix: UnsafeRawBufferPointer) -> Meaning {
    guard let declaration = declaration(of: prefix), !declaration.name.isEmpty else {
      if prefix.elementsEqual("image".utf8) { return .image }
      return rootName.isEmpty ? .sitemap : .other
    }
    if declaration.isImage { return .image }
    return declaration.name == rootName ? .sitemap : .other
  }

  private func declaration(of prefix: UnsafeRawBufferPointer) -> Declaration? {
    declarations.last { $0.prefix.elementsEqual(prefix) }
  }

  private mutating func declare(_ prefix: UnsafePointer<CChar>, as value: UnsafePointer<CChar>) {
    // More than may be is enough to tell that it is too much.
    guard declarations.count <= Self.maximumCount else { return }
    let isImage = strstr(value, Self.imageName) != nil
    declarations.append(Declaration(prefix: Self.bytes(prefix), name: Self.bytes(value), isImage: isImage, depth: depth))
  }

  private static func bytes(_ text: UnsafePointer<CChar>) -> [UInt8] {
    [UInt8](UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }

  /// The prefix that an attribute declares, which is empty in `xmlns`; nil where the attribute is another.
  private static func declaredPrefix(_ attribute: UnsafePointer<CChar>) -> UnsafePointer<CChar>? {
    for (index, letter) in "xmlns".utf8.enumerated() where UInt8(bitPattern: attribute[index]) != letter { return nil }
    if attribute[5] == 0 { return attribute + 5 }
    return UInt8(bitPattern: attribute[5]) == UInt8(ascii: ":") ? attribute + 6 : nil
  }
}
