import CExpat
import Base

/// Parses an SVG with Expat.
///
/// It makes no requests: nothing external is loaded.
final class SVGParser {
  static let namespace: StaticString = "http://www.w3.org/2000/svg\n"
  private static let maximumDepth = 1000
  /// Of elements and attributes, which declarations can add to every element.
  private static let maximumNodes = 10_000_000
  /// Illustrator declares about 15, and XHTML's sets have 253. Before version 2.7, Expat recurses for entities in entities.
  private static let maximumEntities = 500
  /// The number of nodes between checks of the deadline, of which entities can make many from few bytes.
  private static let nodesPerCheck = 1024

  /// The size of the image, once the root element has begun.
  private(set) var size: ImageSize?
  private(set) var findings: SVGFindings
  /// The length of an incomplete token at the end of the last piece. Expat rescans it from its start each time, so that the next piece
  /// should be as long.
  private(set) var unendedBytes = 0

  private let goal: SVGDocument.Goal
  private let deadline: DecodingDeadline
  /// The memory that this may use, and whether the caller's limits and not the length of the text determine it.
  private let (maximumMemory, isLimited): (Int, Bool)
  private let memory: UnsafeMutablePointer<CExpatMemory>
  /// Created with the first bytes, which may determine the encoding.
  private var expat: XML_Parser?
  private var failure: ImageError?
  private var parsedBytes = 0
  private var (depth, nodes, entities) = (0, 0, 0)
  private var nodesAtNextCheck = 0

  /// Creates a parser that uses at most `maximumMemory` bytes, a quarter of them for its findings.
  init(goal: SVGDocument.Goal, maximumMemory: Int, limits: DecodingLimits) {
    self.goal = goal
    deadline = DecodingDeadline(limits)
    self.maximumMemory = maximumMemory
    isLimited = maximumMemory >= limits.allowedBytes
    findings = SVGFindings(maximumBytes: maximumMemory / 4)
    memory = .allocate(capacity: 1)
    memory.initialize(to: CExpatMemory(used: 0, maximum: maximumMemory - maximumMemory / 4))
  }

  deinit {
    if let expat { cexpat_free(expat, memory) }
    memory.deallocate()
  }

  /// Parses the next piece; returns whether the goal is reached.
  func parse(_ piece: UnsafeRawBufferPointer, isLast: Bool) throws(ImageError) -> Bool {
    try deadline.check()
    guard let expat = expat ?? makeExpat(piece) else { throw outOfMemory }
    let start = piece.assumingMemoryBound(to: CChar.self).baseAddress
    let status = cexpat_parse(expat, memory, start, Int32(piece.count), isLast ? 1 : 0)
    if let failure { throw failure }
    if goal == .root, size != nil { return true }
    if status == XML_STATUS_ERROR { throw error(XML_GetErrorCode(expat)) }
    parsedBytes += piece.count
    unendedBytes = max(0, parsedBytes - Int(max(0, XML_GetCurrentByteIndex(expat))))
    return isLast
  }

  private var line: Int { expat.map { Int(max(1, XML_GetCurrentLineNumber($0))) } ?? 1 }

  private var outOfMemory: ImageError {
    let finding = "reading the SVG needs more than \(maximumMemory) bytes of memory"
    if isLimited { return ImageError(.memory(maximumBytes: maximumMemory), finding) }
    return .undecodable("\(finding): its entities expand too far, or it has too many distinct names")
  }

  private func error(_ code: XML_Error) -> ImageError {
    switch code {
    case XML_ERROR_NO_MEMORY: return outOfMemory
    case XML_ERROR_NO_ELEMENTS: return .undecodable("the SVG file is truncated: it ends before its root element does")
    case XML_ERROR_UNCLOSED_TOKEN, XML_ERROR_PARTIAL_CHAR, XML_ERROR_UNCLOSED_CDATA_SECTION:
      return .undecodable("the SVG file is truncated: it ends within the markup that begins on line \(line)")
    default:
      let reason = XML_ErrorString(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
      return .undecodable("Expat: \(reason) on line \(line)")
    }
  }

  fileprivate func stop(_ error: ImageError) {
    if failure == nil { failure = error }
    XML_StopParser(expat, XML_Bool(XML_FALSE))
  }
}

// Expat's callbacks.
extension SVGParser {
  private func makeExpat(_ opening: UnsafeRawBufferPointer) -> XML_Parser? {
    let encoding = cexpat_encoding(opening.baseAddress, opening.count)
    // Line feeds in names of namespaces become spaces, so that none has the separator.
    guard let expat = cexpat_create_ns(encoding, CChar(UInt8(ascii: "\n")), memory) else { return nil }
    self.expat = expat
    XML_SetUserData(expat, Unmanaged.passUnretained(self).toOpaque())
    cexpat_use_iconv(expat)
    XML_SetElementHandler(
      expat,
      { data, name, attributes in SVGParser.of(data).start(name!, SVGAttributes(attributes)) },
      { data, _ in SVGParser.of(data).end() }
    )
    XML_SetXmlDeclHandler(expat) { data, version, _, _ in
      if let version { SVGParser.of(data).check(version: String(cString: version)) }
    }
    XML_SetEntityDeclHandler(expat) { data, name, isParameter, value, _, _, _, _, _ in
      SVGParser.of(data).declareEntity(String(cString: name!), isParameter: isParameter != 0, isInternal: value != nil)
    }
    XML_SetSkippedEntityHandler(expat) { data, name, _ in SVGParser.of(data).skipEntity(String(cString: name!)) }
    guard goal == .endWithFindings else { return expat }
    XML_SetProcessingInstructionHandler(expat) { data, target, _ in
      let parser = SVGParser.of(data)
      guard target!.equals("xml-stylesheet") else { return }
      parser.findings.add("line \(parser.line) has a style sheet instruction, which browsers ignore in an image")
    }
    return expat
  }

  private static func of(_ data: UnsafeMutableRawPointer?) -> SVGParser {
    Unmanaged<SVGParser>.fromOpaque(data!).takeUnretainedValue()
  }

  /// Checks what Expat doesn't: that versions begin with `1.` (XML 1.0, section 2.8).
  private func check(version: String) {
    let minor = version.dropFirst(2)
    if version.hasPrefix("1."), !minor.isEmpty, minor.allSatisfy({ $0.isASCII && $0.isNumber }) { return }
    stop(.undecodable("the XML declaration has the unknown version '\(version.quotable)'"))
  }

  private func start(_ name: UnsafePointer<CChar>, _ attributes: SVGAttributes) {
    // Expat may call a handler for the end of an empty element after it was stopped.
    guard failure == nil else { return }
    if size == nil { readRoot(name, attributes) }
    depth += 1
    nodes += 1 + attributes.count
    if depth > Self.maximumDepth {
      stop(.undecodable("the SVG has elements nested more than \(Self.maximumDepth) deep on line \(line)"))
    } else if nodes > Self.maximumNodes {
      stop(.undecodable("the SVG has more than \(Self.maximumNodes) elements and attributes"))
    } else if nodes >= nodesAtNextCheck {
      nodesAtNextCheck = nodes + Self.nodesPerCheck
      do throws(ImageError) { try deadline.check() } catch { stop(error) }
    }
    guard goal == .endWithFindings else { return }
    if findings.start(name, attributes, depth: depth, line: { line }) {
      XML_SetCharacterDataHandler(expat) { data, text, count in
        SVGParser.of(data).findings.append(UnsafeRawBufferPointer(start: text, count: Int(count)))
      }
    }
  }

  private func end() {
    depth -= 1
    if goal == .endWithFindings, findings.end(depth: depth) { XML_SetCharacterDataHandler(expat, nil) }
  }

  private func readRoot(_ name: UnsafePointer<CChar>, _ attributes: SVGAttributes) {
    guard let local = name.dropping(Self.namespace) else {
      let name = String(cString: name)
      let isSVG = name == "svg" || name.hasSuffix("\nsvg")
      let reason = isSVG ? "isn't in the namespace http://www.w3.org/2000/svg, so that browsers show nothing" : "isn't <svg>"
      return stop(.undecodable("the root element <\(name.split(separator: "\n").last?.quotable ?? "")> \(reason)"))
    }
    guard local.equals("svg") else {
      return stop(.undecodable("the root element <\(String(cString: local).quotable)> isn't <svg>"))
    }
    var size = SVGSize()
    attributes.forEach { size.read($0, $1) }
    guard !size.isEmpty else { return stop(.undecodable("the SVG has a width or height of 0, so that browsers show nothing")) }
    self.size = size.pixels
    if goal == .root { XML_StopParser(expat, XML_Bool(XML_FALSE)) }
  }

  private func declareEntity(_ name: String, isParameter: Bool, isInternal: Bool) {
    entities += 1
    if isParameter {
      stop(.undecodable("the SVG declares the parameter entity '%\(name.quotable);' on line \(line), which isn't allowed"))
    } else if !isInternal {
      stop(.undecodable("the SVG declares the external entity '&\(name.quotable);' on line \(line), which isn't loaded"))
    } else if entities > Self.maximumEntities {
      stop(.undecodable("the SVG declares more than \(Self.maximumEntities) entities"))
    }
  }

  private func skipEntity(_ name: String) {
    findings.add("line \(line) refers to the entity '&\(name.quotable);', which isn't declared")
  }
}

/// The attributes of an element, by Expat: names and values in turn.
struct SVGAttributes {
  private let first: UnsafeMutablePointer<UnsafePointer<CChar>?>?

  init(_ first: UnsafeMutablePointer<UnsafePointer<CChar>?>?) { self.first = first }

  var count: Int {
    var count = 0
    while let first, first[count * 2] != nil { count += 1 }
    return count
  }

  /// Calls `body` with each name and value.
  func forEach(_ body: (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Void) {
    var next = first
    while let pair = next, let name = pair[0], let value = pair[1] {
      body(name, value)
      next = pair + 2
    }
  }
}
