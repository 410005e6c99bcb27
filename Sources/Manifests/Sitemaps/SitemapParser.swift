import CXML2
import Glibc

/// libxml2's push parser over a sitemap; it hands elements on to a ``SitemapContent``.
///
/// It is libxml2 itself and not FoundationXML, a face over it that would load Foundation at every start and has none of these limits.
/// It asks nobody: nothing external is loaded, and a document that declares entities is refused, since one could name files or
/// grow without end. So is one that declares attributes, whose defaults every element would gain, and what has too long a tag or
/// too many namespaces: libxml2 compares each with each. Its own limits hold for the rest (10 MB for a comment).
final class SitemapParser {
  /// Part of the namespace of Google's image extension, which some write with https.
  private static let imageNamespace = "google.com/schemas/sitemap-image/"
  private static let shownMessageBytes = 200
  /// Of a tag that has not ended yet; what is fed at once may be on top of it.
  private static let maximumTagBytes = 64 << 10
  private static let maximumNamespaces = 256
  private static let entitiesProblem =
    "it declares entities, which no sitemap needs and which could name files or grow without end"

  let content: SitemapContent
  /// Why the rest is not read, and the line.
  private(set) var failure: (line: UInt64, message: String)?
  // Made with the first bytes, by which libxml2 tells the encoding.
  private var context: xmlParserCtxtPtr?
  /// That of the root and so of its entries, whatever version of sitemaps it names; libxml2's own copy.
  private var namespace: UnsafePointer<xmlChar>?

  init(_ content: SitemapContent) { self.content = content }

  deinit {
    guard let context else { return }
    if let document = context.pointee.myDoc { xmlFreeDoc(document) }
    xmlFreeParserCtxt(context)
  }

  /// Takes the next bytes, at least four of them the first time; none, as the last, where the text has ended.
  func feed(_ bytes: UnsafeRawBufferPointer, isLast: Bool) {
    guard failure == nil else { return }
    let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress
    if context == nil {
      context = Self.makeContext(for: self, start, bytes.count)
      _ = xmlParseChunk(context, nil, 0, isLast ? 1 : 0)
    } else {
      _ = xmlParseChunk(context, start, Int32(bytes.count), isLast ? 1 : 0)
    }
    guard let context else { return }
    if unendedTagBytes > Self.maximumTagBytes {
      content.refuse("it has a tag of more than \(Self.maximumTagBytes >> 10) KiB")
    }
    if let problem = content.problem {
      failure = (line, problem)
    } else if context.pointee.wellFormed == 0 {
      failure = (UInt64(max(context.pointee.lastError.line, 1)), Self.sentence(context.pointee.lastError.message))
    }
  }

  private var line: UInt64 { UInt64(max(context?.pointee.input?.pointee.line ?? 1, 1)) }

  /// What libxml2 holds of a tag whose end it waits for; 0 of a comment or a declaration, which cost no more than their bytes.
  private var unendedTagBytes: Int {
    guard let input = context?.pointee.input, let start = input.pointee.cur, let end = input.pointee.end, end - start > 1 else {
      return 0
    }
    let isTag = start[0] == UInt8(ascii: "<") && start[1] != UInt8(ascii: "!") && start[1] != UInt8(ascii: "?")
    return isTag ? end - start : 0
  }

  private static func sentence(_ message: UnsafePointer<CChar>?) -> String {
    let text = message.map { String(cString: $0) } ?? ""
    let end = text.utf8.firstIndex(of: 10) ?? text.endIndex
    let shown = String(decoding: text.utf8[..<end].prefix(shownMessageBytes), as: UTF8.self)
    return shown.isEmpty ? "it is no XML" : "the XML is broken: \(shown)"
  }

  private static func makeContext(
    for parser: SitemapParser,
    _ start: UnsafePointer<CChar>?,
    _ count: Int
  ) -> xmlParserCtxtPtr {
    _ = isInitialized
    var handler = xmlSAXHandler()
    handler.initialized = UInt32(XML_SAX2_MAGIC)
    handler.startElementNs = { data, name, prefix, namespace, _, _, _, _, _ in
      SitemapParser.of(data).start(name!, prefix: prefix, namespace: namespace)
    }
    handler.endElementNs = { data, _, _, _ in SitemapParser.of(data).end() }
    handler.characters = { data, text, count in SitemapParser.of(data).text(text, count) }
    handler.ignorableWhitespace = handler.characters
    handler.cdataBlock = { data, text, count in SitemapParser.of(data).text(text, count) }
    handler.entityDecl = { data, _, _, _, _, _ in SitemapParser.of(data).refuse(SitemapParser.entitiesProblem) }
    handler.unparsedEntityDecl = { data, _, _, _, _ in SitemapParser.of(data).refuse(SitemapParser.entitiesProblem) }
    handler.attributeDecl = { data, _, _, _, _, _, values in
      xmlFreeEnumeration(values)
      SitemapParser.of(data).refuse("it declares attributes, which no sitemap needs and which every element would gain")
    }
    // Else libxml2 writes to standard error.
    handler.serror = { _, _ in }
    let data = Unmanaged.passUnretained(parser).toOpaque()
    guard let context = xmlCreatePushParserCtxt(&handler, data, start, Int32(count), nil) else {
      fatalError("xmlCreatePushParserCtxt: out of memory")
    }
    _ = xmlCtxtUseOptions(context, Int32(XML_PARSE_NONET.rawValue))
    return context
  }

  private static let isInitialized: Void = xmlInitParser()

  private static func of(_ data: UnsafeMutableRawPointer?) -> SitemapParser {
    Unmanaged<SitemapParser>.fromOpaque(data!).takeUnretainedValue()
  }

  private func start(_ name: UnsafePointer<xmlChar>, prefix: UnsafePointer<xmlChar>?, namespace: UnsafePointer<xmlChar>?) {
    // Each takes two places on libxml2's stack of those that are declared here or further out.
    if let context, context.pointee.nsNr > 2 * Self.maximumNamespaces {
      content.refuse("it declares more than \(Self.maximumNamespaces) namespaces")
    }
    content.start(element(name, prefix: prefix, namespace: namespace), name: String(cString: name), line: line)
    stopIfRefused()
  }

  private func text(_ text: UnsafePointer<xmlChar>?, _ count: Int32) {
    content.text(UnsafeRawBufferPointer(start: text, count: Int(count)))
    stopIfRefused()
  }

  private func end() {
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
      xmlStopParser(context)
    }
  }

  private func element(
    _ name: UnsafePointer<xmlChar>,
    prefix: UnsafePointer<xmlChar>?,
    namespace: UnsafePointer<xmlChar>?
  ) -> SitemapElement {
    if content.root == nil { self.namespace = namespace }
    // A prefix that is not declared is a common mistake, and means what it is called.
    let isImage =
      if let namespace { strstr(Self.text(namespace), Self.imageNamespace) != nil } else {
        prefix.map { $0.isNamed("image") } ?? false
      }
    if isImage { return name.isNamed("loc") ? .imageLocation : .other }
    guard xmlStrEqual(namespace, self.namespace) != 0 else { return .other }
    if name.isNamed("loc") { return .location }
    if name.isNamed("url") { return .url }
    if name.isNamed("lastmod") { return .lastModified }
    if name.isNamed("priority") { return .priority }
    if name.isNamed("sitemap") { return .sitemap }
    if name.isNamed("urlset") { return .urlSet }
    return name.isNamed("sitemapindex") ? .index : .other
  }

  private static func text(_ text: UnsafePointer<xmlChar>) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self)
  }
}

extension UnsafePointer<xmlChar> {
  fileprivate func isNamed(_ name: StaticString) -> Bool { xmlStrEqual(self, name.utf8Start) != 0 }
}
