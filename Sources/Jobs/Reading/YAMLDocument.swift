internal import CYAML

/// One YAML document as a tree of located nodes, parsed by libyaml's document API.
///
/// It is libyaml's YAML (1.1), without types: every scalar is text for the caller to interpret. Aliases are resolved within
/// ``YAMLLimits``; merge keys (`<<`) are ordinary keys.
struct YAMLDocument: Sendable {
  let source: SourceText
  let root: YAMLNode

  /// Parses UTF-8 text that contains exactly one document; a byte order mark at its start is skipped.
  ///
  /// Throws for the first syntax error, a second document, no document, or an exceeded limit. Errors have the text's name.
  init(parsing bytes: some Collection<UInt8>, name: String, limits: YAMLLimits = YAMLLimits()) throws(YAMLError) {
    source = SourceText(name: name, bytes: bytes.prefix(limits.maximumBytes))
    let start = SourcePosition(line: 1, column: 1)
    guard bytes.count <= limits.maximumBytes else {
      throw YAMLError("the text is larger than \(limits.maximumBytes) bytes", in: source, at: start)
    }
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = Array(bytes)[(bytes.starts(with: mark) ? mark.count : 0)...]

    try YAMLParser(text, source: source).checkLimits(limits)
    let parser = YAMLParser(text, source: source)
    let source = source
    root = try parser.withNextDocument { document throws(YAMLError) in
      guard let root = yaml_document_get_root_node(&document) else {
        throw YAMLError("the text contains no document", in: source, at: start)
      }
      var tree = TreeBuilder(source: source, limits: limits)
      return try tree.node(root.pointee, in: &document, depth: 0)
    }
    try parser.withNextDocument { document throws(YAMLError) in
      guard let root = yaml_document_get_root_node(&document) else { return }
      let position = SourcePosition(root.pointee.start_mark)
      throw YAMLError("a second document starts here, but only one is allowed", in: source, at: position)
    }
  }
}

/// Converts libyaml's table of nodes into a tree, in which aliases become copies of their nodes.
private struct TreeBuilder {
  let source: SourceText
  let limits: YAMLLimits
  var count = 0

  mutating func node(_ node: yaml_node_t, in document: inout yaml_document_t, depth: Int) throws(YAMLError) -> YAMLNode {
    let start = SourcePosition(node.start_mark)
    count += 1
    guard count <= limits.maximumNodes else { throw .tooManyNodes(limits, in: source, at: start) }
    // An alias within its own anchor would be endless, and ends here.
    guard depth <= limits.maximumDepth else { throw .tooDeep(limits, in: source, at: start) }

    var content = YAMLNode.Content.sequence([])
    var impliedTag = YAML_SEQ_TAG
    switch node.type {
    case YAML_SCALAR_NODE:
      let scalar = node.data.scalar
      let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
      content = .scalar(YAMLScalar(text, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE))
      impliedTag = YAML_STR_TAG
    case YAML_MAPPING_NODE:
      var pairs: [YAMLMapping.Pair] = []
      let items = node.data.mapping.pairs
      for pair in UnsafeBufferPointer(start: items.start, count: items.top - items.start) {
        let key = try child(pair.key, in: &document, depth: depth)
        pairs.append(YAMLMapping.Pair(key: key, value: try child(pair.value, in: &document, depth: depth)))
      }
      content = .mapping(YAMLMapping(pairs))
      impliedTag = YAML_MAP_TAG
    default:
      var children: [YAMLNode] = []
      let items = node.data.sequence.items
      for item in UnsafeBufferPointer(start: items.start, count: items.top - items.start) {
        children.append(try child(item, in: &document, depth: depth))
      }
      content = .sequence(children)
    }

    let tag = node.tag.map { String(cString: $0) }
    let range = SourceRange(start: start, end: SourcePosition(node.end_mark))
    return YAMLNode(content, tag: tag == impliedTag ? nil : tag, location: YAMLLocation(source: source, range: range))
  }

  private mutating func child(_ index: Int32, in document: inout yaml_document_t, depth: Int) throws(YAMLError) -> YAMLNode {
    guard let child = yaml_document_get_node(&document, index) else { preconditionFailure("libyaml refers to an unknown node") }
    return try node(child.pointee, in: &document, depth: depth + 1)
  }
}

/// Why a text couldn't be parsed as a YAML document, and where.
struct YAMLError: Error, Sendable, CustomStringConvertible {
  /// One sentence, without the location; libyaml's own words for syntax errors.
  let message: String
  let location: YAMLLocation

  init(_ message: String, in source: SourceText, at position: SourcePosition) {
    self.message = message
    let next = SourcePosition(line: position.line, column: position.column + 1)
    location = YAMLLocation(source: source, range: SourceRange(start: position, end: next))
  }

  var description: String { "\(location.label): \(message)" }
}

/// Limits on a document from an untrusted author.
struct YAMLLimits: Sendable {
  /// The size of the text in bytes; 1 MiB by default.
  var maximumBytes = 1 << 20
  /// The depth of nested collections, with aliases resolved; 64 by default.
  var maximumDepth = 64
  /// The number of nodes with aliases resolved, so that aliases that repeatedly double themselves are rejected; 100,000 by default.
  var maximumNodes = 100_000
  /// The number of anchors; 1,000 by default, since libyaml's time grows with their square.
  var maximumAnchors = 1_000
}

/// The owner of a `yaml_parser_t` and its bytes.
///
/// The bytes have no byte order mark, since libyaml would count it as the first column.
final class YAMLParser {
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let bytes: UnsafeMutableBufferPointer<UInt8>
  private let source: SourceText

  init(_ text: ArraySlice<UInt8>, source: SourceText) {
    self.source = source
    bytes = .allocate(capacity: max(1, text.count))
    _ = bytes.initialize(from: text)
    parser = .allocate(capacity: 1)
    parser.initialize(to: yaml_parser_t())
    // It fails only if memory is exhausted, which would also trap in Swift.
    precondition(yaml_parser_initialize(parser) == 1, "out of memory")
    // Otherwise a byte order mark could make it read UTF-16.
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, bytes.baseAddress, text.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
    bytes.deallocate()
  }

  /// Passes the next document to `body`; a document without root is the end of the stream.
  func withNextDocument<Result>(_ body: (inout yaml_document_t) throws(YAMLError) -> Result) throws(YAMLError) -> Result {
    var document = yaml_document_t()
    guard yaml_parser_load(parser, &document) == 1 else { throw failure() }
    defer { yaml_document_delete(&document) }
    return try body(&document)
  }

  /// Reads events up to the end of the first document, or to the first that exceeds a limit.
  ///
  /// libyaml's time grows with the square of the depth and of the number of anchors, so both are checked before a document is
  /// loaded.
  func checkLimits(_ limits: YAMLLimits) throws(YAMLError) {
    var depth = 0
    var nodes = 0
    var anchors = 0
    while true {
      var event = yaml_event_t()
      guard yaml_parser_parse(parser, &event) == 1 else { throw failure() }
      defer { yaml_event_delete(&event) }
      switch event.type {
      case YAML_STREAM_END_EVENT, YAML_DOCUMENT_END_EVENT: return
      case YAML_SEQUENCE_START_EVENT:
        (depth, nodes) = (depth + 1, nodes + 1)
        anchors += event.data.sequence_start.anchor == nil ? 0 : 1
      case YAML_MAPPING_START_EVENT:
        (depth, nodes) = (depth + 1, nodes + 1)
        anchors += event.data.mapping_start.anchor == nil ? 0 : 1
      case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: depth -= 1
      case YAML_SCALAR_EVENT:
        nodes += 1
        anchors += event.data.scalar.anchor == nil ? 0 : 1
      case YAML_ALIAS_EVENT: nodes += 1
      default: break
      }
      let position = SourcePosition(event.start_mark)
      if depth > limits.maximumDepth { throw .tooDeep(limits, in: source, at: position) }
      if nodes > limits.maximumNodes { throw .tooManyNodes(limits, in: source, at: position) }
      if anchors > limits.maximumAnchors {
        throw YAMLError("more than \(limits.maximumAnchors) anchors", in: source, at: position)
      }
    }
  }

  private func failure() -> YAMLError {
    let state = parser.pointee
    let lines = [state.context_mark, state.problem_mark].map { Int($0.line) + 1 }
    if state.error != YAML_READER_ERROR, let error = tabError(lines[0]...max(lines[0], lines[1])) { return error }
    var words = [state.context, state.problem].compactMap { $0.map { String(cString: $0) } }
    if words.isEmpty { words = ["the text isn't YAML"] }
    if words[0] == "while scanning an alias" { words = ["a text that begins with * requires quotes"] }
    // The reader reports a byte offset, the later stages a line and column.
    let position = state.error == YAML_READER_ERROR ? position(ofByte: state.problem_offset) : SourcePosition(state.problem_mark)
    return YAMLError(words.joined(separator: ": "), in: source, at: position)
  }

  /// The error of the last of these lines with a tab as indentation, which libyaml reports in many confusing ways; nil if none has one.
  private func tabError(_ lines: ClosedRange<Int>) -> YAMLError? {
    for number in lines.reversed() where source.lines.indices.contains(number - 1) {
      let line = source.lines[number - 1]
      let indentation = line.prefix { $0 == " " || $0 == "\t" }
      guard let tab = indentation.firstIndex(of: "\t"), indentation.endIndex < line.endIndex else { continue }
      let column = indentation.distance(from: indentation.startIndex, to: tab) + 1
      let written = indentation.replacing("\t", with: "  ") + line[indentation.endIndex...].prefix(Self.maximumShownCharacters)
      let message = "a tab indents this line, but YAML allows only spaces; write '\(written)'"
      return YAMLError(message, in: source, at: SourcePosition(line: number, column: column))
    }
    return nil
  }

  private static let maximumShownCharacters = 80

  private func position(ofByte offset: Int) -> SourcePosition {
    let before = SourceText(name: "", bytes: bytes[..<min(offset, bytes.count)])
    return SourcePosition(line: before.lines.count, column: before.lines[before.lines.count - 1].unicodeScalars.count + 1)
  }
}

extension SourcePosition {
  init(_ mark: yaml_mark_t) { self.init(line: mark.line + 1, column: mark.column + 1) }
}

extension YAMLError {
  static func tooDeep(_ limits: YAMLLimits, in source: SourceText, at position: SourcePosition) -> YAMLError {
    YAMLError("lists and mappings are nested more than \(limits.maximumDepth) levels deep", in: source, at: position)
  }

  static func tooManyNodes(_ limits: YAMLLimits, in source: SourceText, at position: SourcePosition) -> YAMLError {
    YAMLError("more than \(limits.maximumNodes) values, with aliases resolved", in: source, at: position)
  }
}
