import Base

/// Finds the images and imports of a stylesheet or a `style` attribute, following the grammar only as far as that needs: blocks,
/// at-rules, declarations and functions (CSS Syntax Level 3, section 5).
struct StylesheetScan {
  enum Kind {
    case stylesheet, declarations
  }

  private enum Block {
    case rules
    /// A block whose URLs aren't images, such as `@font-face`.
    case other
  }

  private enum Function {
    case url, imageSet, type, parenthesis, bracket, brace
  }

  /// The rule or declaration in progress.
  private enum Statement {
    case start
    /// After an identifier that may be a property's name.
    case name
    case declaration
    case selector
    case atRule(Block)
    case importRule
  }

  private static let fontRules = ["font-face", "color-profile", "font-feature-values", "counter-style"]
  /// Properties whose URLs are scripts or bindings.
  private static let otherProperties = ["behavior", "-moz-binding"]
  /// The maximum nesting; deeper blocks and functions are skipped.
  private static let maximumDepth = 256

  private let text: UnsafeRawBufferPointer
  private let collector: PageCollector
  private let kind: Kind
  private var lines: LineCounter
  private var tokenizer: CSSTokenizer
  private var blocks: [Block] = []
  private var functions: [Function] = []
  private var skippedDepth = 0
  private var statement = Statement.start
  private var property: [UInt8] = []
  private var mayImport: Bool
  private var importURL: (url: [UInt8], line: UInt64)?
  private var candidate: (url: [UInt8], line: UInt64, claims: ImageClaims)?

  /// Adds the images and imports to a collector. Lines are counted from `line`, or all have it.
  static func scan(
    _ text: UnsafeRawBufferPointer,
    as kind: Kind,
    line: UInt64,
    hasFixedLine: Bool = false,
    into collector: PageCollector
  ) {
    var scan = StylesheetScan(text, kind, line, hasFixedLine || kind == .declarations, collector)
    scan.run()
  }

  private init(_ text: UnsafeRawBufferPointer, _ kind: Kind, _ line: UInt64, _ hasFixedLine: Bool, _ collector: PageCollector) {
    self.text = text
    self.kind = kind
    self.collector = collector
    lines = LineCounter(text, line: line, isFixed: hasFixedLine)
    tokenizer = CSSTokenizer(text)
    mayImport = kind == .stylesheet
  }

  private mutating func run() {
    while true {
      let token = tokenizer.next()
      switch token {
      case .end:
        finishCandidate()
        return finishImport()
      case .whitespace: continue
      case .delimiter(let byte): readDelimiter(byte)
      case .function: push(Self.function(tokenizer.value))
      case .url: readURL()
      case .string:
        if functions.last == .url || functions.last == .imageSet || isImportTarget {
          readURL()
        } else if functions.last == .type {
          candidate?.claims.format = ImageFormat(mediaType: String(decoding: tokenizer.value.prefix(64), as: UTF8.self))
        }
      case .number: readResolution()
      case .identifier: readIdentifier()
      case .atKeyword: readAtKeyword()
      case .hash, .badString, .badURL: break
      }
      if case .start = statement, functions.isEmpty { startOther(token) }
    }
  }

  // MARK: Statements

  /// A statement that starts with any other token is a style rule.
  private mutating func startOther(_ token: CSSToken) {
    if token != .delimiter(UInt8(ascii: ";")), token != .delimiter(UInt8(ascii: "}")), token != .delimiter(UInt8(ascii: "{")) {
      statement = .selector
    }
  }

  private mutating func readIdentifier() {
    guard functions.isEmpty else { return }
    switch statement {
    case .start:
      property = tokenizer.value.map(\.asciiLowercased)
      statement = .name
    case .name: statement = .selector
    default: break
    }
  }

  private mutating func readAtKeyword() {
    guard functions.isEmpty, case .start = statement else { return }
    let name = String(decoding: tokenizer.value.prefix(32).map(\.asciiLowercased), as: UTF8.self)
    if name == "import", mayImport {
      importURL = nil
      statement = .importRule
      return
    }
    // Imports precede all other rules except these (CSS Cascade 5, section 2).
    if name != "charset", name != "layer" { mayImport = false }
    statement = .atRule(Self.fontRules.contains(name) ? .other : .rules)
  }

  private mutating func readDelimiter(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "{"): functions.isEmpty ? openBlock() : push(.brace)
    case UInt8(ascii: "}"): functions.isEmpty ? closeBlock() : pop(.brace)
    case UInt8(ascii: ";") where functions.isEmpty: endStatement()
    case UInt8(ascii: "("): push(.parenthesis)
    case UInt8(ascii: "["): push(.bracket)
    case UInt8(ascii: ")"): pop(.parenthesis)
    case UInt8(ascii: "]"): pop(.bracket)
    case UInt8(ascii: ","): if functions.last == .imageSet { finishCandidate() }
    case UInt8(ascii: ":") where functions.isEmpty: if case .name = statement { statement = .declaration }
    default: break
    }
  }

  private mutating func openBlock() {
    mayImport = false
    importURL = nil
    var block = blocks.last ?? .rules
    if case .atRule(let own) = statement, own == .other { block = .other }
    if blocks.count < Self.maximumDepth { blocks.append(block) } else { skippedDepth += 1 }
    statement = .start
  }

  private mutating func closeBlock() {
    if skippedDepth > 0 { skippedDepth -= 1 } else if !blocks.isEmpty { blocks.removeLast() }
    statement = .start
  }

  private mutating func endStatement() {
    finishImport()
    statement = .start
  }

  private mutating func finishImport() {
    if case .importRule = statement, let (url, line) = importURL {
      url.withRawBytes { collector.addStylesheet($0, line: line) }
    }
    importURL = nil
  }

  // MARK: Functions

  private static func function(_ name: [UInt8]) -> Function {
    switch String(decoding: name.prefix(32).map(\.asciiLowercased), as: UTF8.self) {
    case "url", "src": .url
    case "image-set", "-webkit-image-set": .imageSet
    case "type": .type
    default: .parenthesis
    }
  }

  private mutating func push(_ function: Function) {
    // Beyond the maximum all is in one unclosed bracket, as in a stylesheet that ends there.
    if functions.count < Self.maximumDepth { functions.append(function) }
  }

  /// Closes the innermost function or bracket, if it is of that kind; other closing brackets mean nothing.
  private mutating func pop(_ closed: Function) {
    guard let last = functions.last else { return }
    switch (last, closed) {
    case (.bracket, .bracket), (.brace, .brace), (.url, .parenthesis), (.type, .parenthesis), (.parenthesis, .parenthesis): break
    case (.imageSet, .parenthesis): finishCandidate()
    default: return
    }
    functions.removeLast()
  }

  // MARK: URLs

  /// Whether a URL here is that of an import: its first value.
  private var isImportTarget: Bool {
    guard case .importRule = statement, importURL == nil else { return false }
    return functions.isEmpty || (functions.count == 1 && functions[0] == .url)
  }

  private var mayHaveImages: Bool {
    guard case .declaration = statement, blocks.last != .other, kind == .declarations || !blocks.isEmpty else { return false }
    return !Self.otherProperties.contains { property.elementsEqual($0.utf8) }
  }

  private mutating func readURL() {
    let line = lines.line(at: tokenizer.start)
    if isImportTarget {
      importURL = (tokenizer.value, line)
    } else if mayHaveImages {
      if functions.contains(.imageSet) {
        finishCandidate()
        candidate = (tokenizer.value, line, ImageClaims())
      } else {
        tokenizer.value.withRawBytes { collector.addImage($0, origin, line: line) }
      }
    }
  }

  /// The resolution of a candidate of an `image-set()` (CSS Images 4, section 2.3).
  private mutating func readResolution() {
    guard candidate != nil, functions.last == .imageSet else { return }
    let pixels = SourceDescriptor.number(text[tokenizer.number])
    let unit = String(decoding: tokenizer.value.prefix(8).map(\.asciiLowercased), as: UTF8.self)
    let density: Double? =
      switch unit {
      case "x", "dppx": pixels
      case "dpi": pixels.map { $0 / 96 }
      case "dpcm": pixels.map { $0 * 2.54 / 96 }
      default: nil
      }
    if let density { candidate?.claims.density = density }
  }

  private mutating func finishCandidate() {
    guard let (url, line, claims) = candidate else { return }
    candidate = nil
    url.withRawBytes { collector.addImage($0, origin, line: line, claims: claims) }
  }

  private var origin: PageOrigin {
    PageOrigin(element: "style", attribute: String(decoding: property.prefix(64), as: UTF8.self))
  }
}

/// Counts lines up to offsets that only grow.
private struct LineCounter {
  private let text: UnsafeRawBufferPointer
  private var line: UInt64
  private var offset = 0
  private let isFixed: Bool

  init(_ text: UnsafeRawBufferPointer, line: UInt64, isFixed: Bool) {
    self.text = text
    self.line = line
    self.isFixed = isFixed
  }

  mutating func line(at target: Int) -> UInt64 {
    guard !isFixed, target > offset else { return line }
    line += UnsafeRawBufferPointer(rebasing: text[offset..<target]).lineBreaks
    // The second half of a line break at the edge would count again.
    offset = target
    return line
  }
}
