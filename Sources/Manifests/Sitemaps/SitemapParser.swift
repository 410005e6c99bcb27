import CExpat
import Glibc
import ImagePrimitives

/// Parses a sitemap with Expat and passes its elements on to a ``SitemapContent``.
///
/// It makes no requests: nothing external is loaded. It rejects documents that declare entities, which could name files
/// or expand without limit, or attributes, whose defaults every element would gain. It also rejects tags that are too
/// long, too many namespaces, and comments or distinct names that take too much memory.
final class SitemapParser {
  /// The maximum length of an incomplete tag, not counting the last feed.
  private static let maximumTagBytes = 64 << 10
  private static let maximumMemoryBytes = 16 << 20
  private static let entitiesProblem =
    "it declares entities, which are rejected since they could name files or expand without limit"
  private static let attributesProblem = "it declares attributes, which are rejected since every element would gain them"

  let content: SitemapContent
  /// The reason why the rest isn't read, and the line.
  private(set) var failure: (line: UInt64, message: String)?
  private var namespaces = SitemapNamespaces()
  private var encoding: SitemapEncoding?
  /// Created when the first bytes have determined the encoding.
  private var expat: XML_Parser?
  private let memory: UnsafeMutablePointer<CExpatMemory>
  /// The first bytes, until they determine the encoding.
  private var opening: [UInt8] = []
  /// Bytes waiting to be parsed. Expat rescans an incomplete token from its start each time, so it only gets more when
  /// that doubles the token.
  private var held: [UInt8] = []
  private var parsedBytes = 0
  private var unendedBytes = 0
  private var unendedIsTag = false

  init(_ content: SitemapContent) {
    self.content = content
    memory = .allocate(capacity: 1)
    memory.initialize(to: CExpatMemory(used: 0, maximum: Self.maximumMemoryBytes))
  }

  deinit {
    if let expat { cexpat_free(expat, memory) }
    memory.deallocate()
  }

  // MARK: Bytes

  /// Takes the next bytes; at the end of the text, none with `isLast`.
  func feed(_ bytes: UnsafeRawBufferPointer, isLast: Bool) {
    guard failure == nil else { return }
    if expat != nil { return decode(bytes, isLast: isLast) }
    opening.append(contentsOf: bytes)
    guard isLast || SitemapEncoding.isDetermined(by: opening) else { return }
    let encoding = SitemapEncoding(of: opening)
    expat = makeExpat(encoding.expatName)
    self.encoding = consume encoding
    opening.withUnsafeBytes { decode($0, isLast: isLast) }
    opening = []
  }

  private func decode(_ bytes: UnsafeRawBufferPointer, isLast: Bool) {
    guard encoding?.isConverted == true, let text = encoding?.convert(bytes, isLast: isLast) else {
      return parse(bytes, isLast: isLast)
    }
    let isBroken = encoding?.isBroken == true
    text.withUnsafeBytes { parse($0, isLast: isLast && !isBroken) }
    if isBroken, failure == nil {
      failure = (line, "the XML is broken: it has bytes that are invalid in its encoding, \(encoding?.declaredName ?? "")")
    }
  }

  private func parse(_ bytes: UnsafeRawBufferPointer, isLast: Bool) {
    if held.isEmpty, isLast || bytes.count >= unendedBytes {
      parseNow(bytes, isLast: isLast)
    } else {
      held.append(contentsOf: bytes)
      if isLast || held.count >= unendedBytes {
        held.withUnsafeBytes { parseNow($0, isLast: isLast) }
        held.removeAll(keepingCapacity: true)
      }
    }
    if unendedIsTag, unendedBytes + held.count > Self.maximumTagBytes {
      refuse("it has a tag longer than \(Self.maximumTagBytes >> 10) KiB")
    }
  }

  private func parseNow(_ bytes: UnsafeRawBufferPointer, isLast: Bool) {
    guard let expat, failure == nil else { return }
    let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress
    let status = cexpat_parse(expat, memory, start, Int32(bytes.count), isLast ? 1 : 0)
    parsedBytes += bytes.count
    if failure == nil, status == XML_STATUS_ERROR { failure = (line, Self.sentence(XML_GetErrorCode(expat))) }
    unendedBytes = max(0, parsedBytes - Int(max(0, XML_GetCurrentByteIndex(expat))))
    unendedIsTag = unendedBytes > 0 && isInTag
  }

  /// Whether the incomplete token is a tag, not a comment or declaration.
  private var isInTag: Bool {
    var (offset, count): (Int32, Int32) = (0, 0)
    guard let start = XML_GetInputContext(expat, &offset, &count) else { return false }
    let unended = UnsafeRawBufferPointer(start: start, count: Int(count)).dropFirst(Int(offset)).prefix(4)
    // Without the zeros of UTF-16.
    let letters = unended.filter { $0 != 0 }
    return letters.count > 1 && letters[0] == UInt8(ascii: "<") && letters[1] != UInt8(ascii: "!")
      && letters[1] != UInt8(ascii: "?")
  }

  private var line: UInt64 { expat.map { UInt64(max(1, XML_GetCurrentLineNumber($0))) } ?? 1 }

  private static func sentence(_ error: XML_Error) -> String {
    switch error {
    case XML_ERROR_NO_MEMORY:
      "parsing it takes more than \(maximumMemoryBytes >> 20) MiB: it has a huge comment or declaration, or too many distinct names"
    case XML_ERROR_NO_ELEMENTS: "the XML is broken: it ends before its first element is closed"
    default: "the XML is broken: \(XML_ErrorString(error).map { String(cString: $0) } ?? "error \(error.rawValue)")"
    }
  }

  // MARK: Expat's callbacks

  private func makeExpat(_ encoding: String?) -> XML_Parser {
    guard let expat = cexpat_create(encoding, memory) else { fatalError("XML_ParserCreate: out of memory") }
    XML_SetUserData(expat, Unmanaged.passUnretained(self).toOpaque())
    XML_SetElementHandler(
      expat,
      { data, name, attributes in SitemapParser.of(data).start(name!, attributes) },
      { data, _ in SitemapParser.of(data).end() }
    )
    XML_SetCharacterDataHandler(expat) { data, text, count in
      SitemapParser.of(data).text(UnsafeRawBufferPointer(start: text, count: Int(count)))
    }
    XML_SetEntityDeclHandler(expat) { data, _, _, _, _, _, _, _, _ in
      SitemapParser.of(data).refuse(SitemapParser.entitiesProblem)
    }
    XML_SetAttlistDeclHandler(expat) { data, _, _, _, _, _ in
      SitemapParser.of(data).refuse(SitemapParser.attributesProblem)
    }
    return expat
  }

  private static func of(_ data: UnsafeMutableRawPointer?) -> SitemapParser {
    Unmanaged<SitemapParser>.fromOpaque(data!).takeUnretainedValue()
  }

  private func start(_ name: UnsafePointer<CChar>, _ attributes: SitemapNamespaces.Attributes?) {
    let colon = strchr(name, CInt(UInt8(ascii: ":")))
    let prefix = UnsafeRawBufferPointer(start: name, count: colon.map { UnsafePointer($0) - name } ?? 0)
    let localName = colon.map { UnsafePointer($0 + 1) } ?? name
    if !namespaces.start(attributes, prefix: prefix) {
      content.refuse("it declares more than \(SitemapNamespaces.maximumCount) namespaces")
    }
    content.start(element(localName, prefix: prefix), name: String(cString: localName), line: line)
    stopIfRefused()
  }

  private func text(_ text: UnsafeRawBufferPointer) {
    content.text(text)
    stopIfRefused()
  }

  private func end() {
    namespaces.end()
    content.end()
    stopIfRefused()
  }

  private func refuse(_ problem: String) {
    content.refuse(problem)
    stopIfRefused()
  }

  private func stopIfRefused() {
    if failure == nil, let problem = content.problem {
      failure = (line, problem)
      XML_StopParser(expat, XML_Bool(XML_FALSE))
    }
  }

  private func element(_ name: UnsafePointer<CChar>, prefix: UnsafeRawBufferPointer) -> SitemapElement {
    let element = SitemapElement(name)
    if element == .other { return .other }
    return switch namespaces.meaning(of: prefix) {
    case .sitemap: element
    case .image: element == .location ? .imageLocation : .other
    case .other: .other
    }
  }
}

extension SitemapElement {
  /// Creates the element of that name in the namespace of sitemaps.
  fileprivate init(_ name: UnsafePointer<CChar>) {
    let named = { (other: StaticString) in
      strcmp(name, UnsafeRawPointer(other.utf8Start).assumingMemoryBound(to: CChar.self)) == 0
    }
    if named("loc") {
      self = .location
    } else if named("url") {
      self = .url
    } else if named("lastmod") {
      self = .lastModified
    } else if named("priority") {
      self = .priority
    } else if named("sitemap") {
      self = .sitemap
    } else if named("urlset") {
      self = .urlSet
    } else {
      self = named("sitemapindex") ? .index : .other
    }
  }
}

/// The elements of sitemaps.org and of Google's image extension that are used here.
enum SitemapElement {
  /// The roots.
  case urlSet, index
  /// The entries below them.
  case url, sitemap
  /// The fields of an entry.
  case location, lastModified, priority
  /// `image:loc`.
  case imageLocation
  case other
}

/// Rules for selecting a sitemap's locations.
struct SitemapRules {
  /// Entries that aren't later are skipped.
  var newerThan: Timestamp?
  /// Whether locations without an image extension are kept.
  var takesEveryLocation: Bool
  var usesPriority: Bool

  init(_ manifest: Manifest) {
    newerThan = manifest.newerThan
    takesEveryLocation = !manifest.include.isEmpty
    usesPriority = manifest.usesSitemapPriority
  }
}

/// The namespaces in scope.
///
/// Expat could resolve them, but it rejects undeclared prefixes. These are a common error, and here such a prefix has
/// its usual meaning.
struct SitemapNamespaces {
  enum Meaning {
    /// The namespace of the root and so of its entries, whatever version of sitemaps it names.
    case sitemap
    /// The namespace of Google's image extension.
    case image
    case other
  }

  typealias Attributes = UnsafeMutablePointer<UnsafePointer<CChar>?>

  static let maximumCount = 256
  /// Part of the name of the image extension, which some sites write with https.
  private static let imageName = "google.com/schemas/sitemap-image/"

  private struct Declaration {
    let prefix: [UInt8]
    let name: [UInt8]
    let isImage: Bool
    let depth: Int
  }

  private var declarations: [Declaration] = []
  private var depth = 0
  /// Empty if there is none.
  private var rootName: [UInt8] = []

  /// Adds the declarations of an element; returns false if there are too many.
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

  /// The namespace of names with a prefix, or of names without one if `prefix` is empty.
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
    // One more than the maximum is enough to detect the excess.
    guard declarations.count <= Self.maximumCount else { return }
    let isImage = strstr(value, Self.imageName) != nil
    declarations.append(Declaration(prefix: Self.bytes(prefix), name: Self.bytes(value), isImage: isImage, depth: depth))
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
