import CExpat
import Glibc
import ImagePrimitives

/// Expat over a sitemap; it hands elements on to a ``SitemapContent``.
///
/// It asks nobody: nothing external is loaded, and a document that declares entities is refused, since one could name files or
/// grow without end. So is one that declares attributes, whose defaults every element would gain, and what has too long a tag, too
/// many namespaces, or takes too much memory by its comments or by ever new names.
final class SitemapParser {
  /// Of a tag that has not ended yet; what is fed at once may be on top of it.
  private static let maximumTagBytes = 64 << 10
  private static let maximumMemoryBytes = 16 << 20
  private static let entitiesProblem =
    "it declares entities, which no sitemap needs and which could name files or grow without end"
  private static let attributesProblem = "it declares attributes, which no sitemap needs and which every element would gain"

  let content: SitemapContent
  /// Why the rest is not read, and the line.
  private(set) var failure: (line: UInt64, message: String)?
  private var namespaces = SitemapNamespaces()
  private var encoding: SitemapEncoding?
  /// Made with the first bytes, which tell the encoding.
  private var expat: XML_Parser?
  private let memory: UnsafeMutablePointer<CExpatMemory>
  /// The first bytes, until they tell it.
  private var opening: [UInt8] = []
  /// What waits to be parsed. Expat looks at what has not ended anew from its start each time, so that it is given as much again first.
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

  /// Takes the next bytes; none, as the last, where the text has ended.
  func feed(_ bytes: UnsafeRawBufferPointer, isLast: Bool) {
    guard failure == nil else { return }
    if expat != nil { return decode(bytes, isLast: isLast) }
    opening.append(contentsOf: bytes)
    guard isLast || SitemapEncoding.isTold(by: opening) else { return }
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
      failure = (line, "the XML is broken: it has bytes that are no text in its encoding, \(encoding?.declaredName ?? "")")
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
      refuse("it has a tag of more than \(Self.maximumTagBytes >> 10) KiB")
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

  /// Whether what has not ended is a tag, and no comment or declaration.
  private var isInTag: Bool {
    var (offset, count): (Int32, Int32) = (0, 0)
    guard let start = XML_GetInputContext(expat, &offset, &count) else { return false }
    let unended = UnsafeRawBufferPointer(start: start, count: Int(count)).dropFirst(Int(offset)).prefix(4)
    // Without the zeroes of UTF-16.
    let letters = unended.filter { $0 != 0 }
    return letters.count > 1 && letters[0] == UInt8(ascii: "<") && letters[1] != UInt8(ascii: "!")
      && letters[1] != UInt8(ascii: "?")
  }

  private var line: UInt64 { expat.map { UInt64(max(1, XML_GetCurrentLineNumber($0))) } ?? 1 }

  private static func sentence(_ error: XML_Error) -> String {
    switch error {
    case XML_ERROR_NO_MEMORY:
      "reading it takes more than \(maximumMemoryBytes >> 20) MiB, by a comment or a declaration without end or by ever new names"
    case XML_ERROR_NO_ELEMENTS: "the XML is broken: it ends before its first element does"
    default: "the XML is broken: \(XML_ErrorString(error).map { String(cString: $0) } ?? "error \(error.rawValue)")"
    }
  }

  // MARK: What Expat meets

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
  /// What a name means in the namespace of sitemaps.
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

/// The elements of sitemaps.org and of Google's image extension that mean something here.
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

/// What a sitemap is judged by.
struct SitemapRules {
  /// Entries that are not later are left out.
  var newerThan: Timestamp?
  /// Whether a location is taken that does not end like an image.
  var takesEveryLocation: Bool
  var usesPriority: Bool

  init(_ manifest: Manifest) {
    newerThan = manifest.newerThan
    takesEveryLocation = !manifest.include.isEmpty
    usesPriority = manifest.usesSitemapPriority
  }
}

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

  /// Takes what an element declares; false if that is too much.
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

  /// The prefix that an attribute declares, which is empty in `xmlns`; nil if the attribute is another.
  private static func declaredPrefix(_ attribute: UnsafePointer<CChar>) -> UnsafePointer<CChar>? {
    for (index, letter) in "xmlns".utf8.enumerated() where UInt8(bitPattern: attribute[index]) != letter { return nil }
    if attribute[5] == 0 { return attribute + 5 }
    return UInt8(bitPattern: attribute[5]) == UInt8(ascii: ":") ? attribute + 6 : nil
  }
}
