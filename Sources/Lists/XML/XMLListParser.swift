import CExpat
import Glibc
import Base

/// Parses a sitemap or a feed with Expat and passes its elements on to its content, which the root element decides.
///
/// It makes no requests: nothing external is loaded. It rejects documents that declare entities, which could name files
/// or expand without limit, or attributes, whose defaults every element would gain. It also rejects tags that are too
/// long, too many namespaces, and comments or distinct names that take too much memory.
final class XMLListParser {
  /// The maximum length of an incomplete tag, not counting the last feed.
  private static let maximumTagBytes = 64 << 10
  private static let maximumMemoryBytes = 16 << 20
  /// More elements than an envelope has before the sitemap in it.
  private static let maximumWrapperElements = 16
  /// Deeper than any sitemap, feed or extension, so that nesting needs no memory.
  private static let maximumDepth = 64
  private static let entitiesProblem =
    "it declares entities, which are rejected since they could name files or expand without limit"
  private static let attributesProblem = "it declares attributes, which are rejected since every element would gain them"

  let locations = XMLLocations()
  /// Created with the root element.
  private(set) var content: (any XMLListContent)?
  /// The reason why the rest isn't read.
  private(set) var failure: InputError?
  private let rules: XMLListRules
  private let namespaces = XMLNamespaces()
  private var depth = 0
  /// The field whose text is being read.
  private var field: (field: XMLField, depth: Int, line: UInt64)?
  private var firstLine: UInt64 = 1
  /// The first element, if it is none of a list's; that may be in it.
  private var wrapper: (name: String, line: UInt64)?
  private var wrapperElements = 0
  private var encoding: XMLEncoding?
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

  init(_ rules: XMLListRules) {
    self.rules = rules
    memory = .allocate(capacity: 1)
    memory.initialize(to: CExpatMemory(used: 0, maximum: Self.maximumMemoryBytes))
  }

  deinit {
    if let expat { cexpat_free(expat, memory) }
    memory.deallocate()
  }

  // MARK: Bytes

  /// Skips white space and byte order marks before the text.
  func skip(_ bytes: UnsafeRawBufferPointer) {
    firstLine += UInt64(bytes.count { $0 == UInt8(ascii: "\n") })
    // It overrides the declaration.
    if opening.isEmpty, bytes.contains(0xef) { opening = [0xef, 0xbb, 0xbf] }
  }

  /// Takes the next bytes; at the end of the text, none with `isLast`.
  func feed(_ bytes: UnsafeRawBufferPointer, isLast: Bool) {
    guard failure == nil else { return }
    if expat != nil { return decode(bytes, isLast: isLast) }
    opening.append(contentsOf: bytes)
    guard isLast || XMLEncoding.isDetermined(by: opening) else { return }
    let encoding = XMLEncoding(of: opening)
    expat = makeExpat(encoding.expatName)
    self.encoding = encoding
    opening.withUnsafeBytes { decode($0, isLast: isLast) }
    opening = []
  }

  private func decode(_ bytes: UnsafeRawBufferPointer, isLast: Bool) {
    guard let converter = encoding?.converter else { return parse(bytes, isLast: isLast) }
    let text = converter.utf8(of: bytes, isLast: isLast)
    text.withUnsafeBytes { parse($0, isLast: isLast && !converter.isBroken) }
    if converter.isBroken, failure == nil {
      let name = encoding?.declaredName ?? ""
      failure = InputError("the XML is broken: it has bytes that are invalid in its encoding, \(name)", line: line)
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
    if failure == nil, status == XML_STATUS_ERROR { failure = InputError(Self.sentence(XML_GetErrorCode(expat)), line: line) }
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

  private var line: UInt64 { firstLine + (expat.map { UInt64(max(1, XML_GetCurrentLineNumber($0))) } ?? 1) - 1 }

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
      { data, name, attributes in XMLListParser.of(data).start(name!, attributes) },
      { data, _ in XMLListParser.of(data).end() }
    )
    XML_SetCharacterDataHandler(expat) { data, text, count in
      XMLListParser.of(data).text(UnsafeRawBufferPointer(start: text, count: Int(count)))
    }
    XML_SetEntityDeclHandler(expat) { data, _, _, _, _, _, _, _, _ in
      XMLListParser.of(data).refuse(XMLListParser.entitiesProblem)
    }
    XML_SetAttlistDeclHandler(expat) { data, _, _, _, _, _ in
      XMLListParser.of(data).refuse(XMLListParser.attributesProblem)
    }
    return expat
  }

  private static func of(_ data: UnsafeMutableRawPointer?) -> XMLListParser {
    Unmanaged<XMLListParser>.fromOpaque(data!).takeUnretainedValue()
  }

  private func start(_ name: UnsafePointer<CChar>, _ attributes: XMLElement.Attributes?) {
    let colon = strchr(name, CInt(UInt8(ascii: ":")))
    let prefix = UnsafeRawBufferPointer(start: name, count: colon.map { UnsafePointer($0) - name } ?? 0)
    depth += 1
    if !namespaces.start(attributes) {
      locations.refuse("it declares more than \(XMLNamespaces.maximumCount) namespaces")
    }
    if depth > Self.maximumDepth { locations.refuse("its elements are nested more than \(Self.maximumDepth) levels deep") }
    let localName = colon.map { UnsafePointer($0 + 1) } ?? name
    let element = XMLElement(name: localName, prefix: prefix, attributes: attributes, line: line)
    if content == nil {
      startRoot(element)
    } else if field == nil, let next = content?.start(element, depth: depth) {
      field = (next, depth, element.line)
      locations.beginText()
    }
    stopIfRefused()
  }

  private func startRoot(_ root: XMLElement) {
    namespaces.setRoot(root.prefix)
    if rules.kind != .feed { content = SitemapContent(root, locations, rules, namespaces) }
    if content == nil, rules.kind != .sitemap, depth == 1 { content = FeedContent(root, locations, namespaces) }
    if content != nil { return }
    wrapper = wrapper ?? (String(cString: root.name), line)
    wrapperElements += 1
    if rules.kind == .feed || wrapperElements > Self.maximumWrapperElements { refuseWrapper() }
  }

  private func refuseWrapper() {
    guard let wrapper, failure == nil else { return }
    failure = InputError("its first element is <\(wrapper.name)>, but \(rules.kind.beginning)", line: wrapper.line)
    XML_StopParser(expat, XML_Bool(XML_FALSE))
  }

  private func text(_ text: UnsafeRawBufferPointer) { if let field, field.depth == depth { locations.appendText(text) } }

  private func end() {
    namespaces.end()
    if let field, field.depth == depth {
      content?.end(field.field, line: field.line)
      self.field = nil
    }
    content?.end(depth: depth)
    depth -= 1
    if depth == 0, content == nil { refuseWrapper() }
    stopIfRefused()
  }

  private func refuse(_ problem: String) {
    locations.refuse(problem)
    stopIfRefused()
  }

  private func stopIfRefused() {
    if failure == nil, let problem = locations.problem {
      failure = InputError(problem, line: line)
      XML_StopParser(expat, XML_Bool(XML_FALSE))
    }
  }
}

/// A field of an entry whose text is needed.
enum XMLField {
  /// A required location may not be empty.
  case location(XMLLocations.Kind, isRequired: Bool)
  /// Those of a sitemap's entry.
  case lastModified, priority
  /// `g:id` of a feed's item, and its `guid` in RSS or `id` in Atom.
  case productID, id
}

/// Turns the elements of an XML list into its locations; the root is depth 1.
protocol XMLListContent: AnyObject {
  /// Returns the field that the element is; it has no elements of its own. Nil if its text isn't needed.
  func start(_ element: XMLElement, depth: Int) -> XMLField?
  /// Takes the text of a field from the locations.
  func end(_ field: XMLField, line: UInt64)
  func end(depth: Int)
}

/// How an XML list is read.
struct XMLListRules {
  enum Kind {
    case sitemap, feed, either

    /// The expected root element.
    var beginning: String {
      switch self {
      case .sitemap: "a sitemap starts with <urlset> or <sitemapindex>"
      case .feed: "a feed starts with <rss> or <feed>"
      case .either: "a sitemap starts with <urlset> or <sitemapindex>, and a feed with <rss> or <feed>"
      }
    }
  }

  let list: URLList
  /// The lists that are accepted.
  let kind: Kind
  /// When reading starts.
  let now: Timestamp

  init(_ list: URLList, of file: ListFile, now: Timestamp) {
    (self.list, self.now) = (list, now)
    // An index may name feeds, too (https://www.sitemaps.org/protocol.html#otherformats).
    switch list.format {
    case .sitemap where file.kind == .listed: kind = .sitemap
    case .feed where file.kind == .listed: kind = .feed
    default: kind = .either
    }
  }
}

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
  static func isDetermined(by opening: [UInt8]) -> Bool { opening.count >= openingBytes || opening.contains(UInt8(ascii: ">")) }

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
    guard let name = PageEncoding.value(of: "encoding", in: opening[..<end]) else { return nil }
    let isOfName = { (byte: UInt8) in
      0x61...0x7a ~= byte | 0x20 || 0x30...0x39 ~= byte || [0x2d, 0x2e, 0x5f].contains(byte)
    }
    // iconv would also accept a suffix after a slash, such as //TRANSLIT.
    return name.allSatisfy(isOfName) ? String(decoding: name, as: UTF8.self) : nil
  }
}
