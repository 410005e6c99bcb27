internal import CYAML

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
