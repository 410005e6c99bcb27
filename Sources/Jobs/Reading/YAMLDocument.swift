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
  /// - Parameter name: the name of the text in errors, such as a file's path.
  /// - Throws: ``YAMLError`` for the first syntax error, a second document, no document, or an exceeded limit.
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

  init(source: SourceText, limits: YAMLLimits) {
    self.source = source
    self.limits = limits
  }

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
