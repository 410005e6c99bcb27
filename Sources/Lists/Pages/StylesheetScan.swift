import Base

/// Finds the images and imports of a stylesheet or a `style` attribute, following the grammar only as far as that needs: blocks,
/// at-rules, declarations and functions (CSS Syntax Level 3, section 5).
struct StylesheetScan {
  enum Kind {
    case stylesheet, declarations
  }

  private enum Function {
    case url, imageSet, type, parenthesis, bracket, brace
  }

  /// The rule or declaration in progress.
  private enum Statement: Equatable {
    case start
    /// After an identifier that may be a property's name.
    case name
    case declaration, selector, importRule
    /// The URLs of some rules aren't images.
    case atRule(hasImages: Bool)
  }

  /// At-rules whose URLs aren't images.
  private static let otherRules = ["font-face", "color-profile", "font-feature-values", "counter-style"]
  /// Properties whose URLs are scripts or bindings.
  private static let otherProperties = ["behavior", "-moz-binding"]
  /// The maximum nesting; deeper blocks and functions are skipped.
  private static let maximumDepth = 256

  private let text: UnsafeRawBufferPointer
  private let collector: PageCollector
  private let kind: Kind
  private var tokenizer: CSSTokenizer
  /// The line at an offset; offsets only grow.
  private var line: (number: UInt64, offset: Int)
  private let hasFixedLine: Bool
  /// For each open block, whether its URLs may be images.
  private var blocks: [Bool] = []
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
    while scan.readToken() {}
  }

  private init(_ text: UnsafeRawBufferPointer, _ kind: Kind, _ line: UInt64, _ hasFixedLine: Bool, _ collector: PageCollector) {
    self.text = text
    self.kind = kind
    self.collector = collector
    self.line = (line, 0)
    self.hasFixedLine = hasFixedLine
    tokenizer = CSSTokenizer(text)
    mayImport = kind == .stylesheet
  }

  /// Returns false at the end.
  private mutating func readToken() -> Bool {
    let token = tokenizer.next()
    switch token {
    case .end:
      finishCandidate()
      finishImport()
      return false
    case .whitespace: return true
    case .delimiter(let byte): readDelimiter(byte)
    case .function: push(Self.function(tokenizer.value))
    case .url: readURL()
    case .string where functions.last == .url || functions.last == .imageSet || isImportTarget: readURL()
    case .string where functions.last == .type:
      candidate?.claims.format = ImageFormat(mediaType: String(decoding: tokenizer.value.prefix(64), as: UTF8.self))
    case .number: readResolution()
    case .identifier: readIdentifier()
    case .atKeyword: readAtKeyword()
    case .string, .other: break
    }
    // A statement that starts with any other token is a style rule.
    if statement == .start, functions.isEmpty, ![";", "}", "{"].contains(where: { token == .delimiter(UInt8(ascii: $0)) }) {
      statement = .selector
    }
    return true
  }

  // MARK: Statements

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
    guard functions.isEmpty, statement == .start else { return }
    let name = String(decoding: tokenizer.value.prefix(32).map(\.asciiLowercased), as: UTF8.self)
    if name == "import", mayImport {
      importURL = nil
      statement = .importRule
      return
    }
    // Imports precede all other rules except these (CSS Cascade 5, section 2).
    if name != "charset", name != "layer" { mayImport = false }
    statement = .atRule(hasImages: !Self.otherRules.contains(name))
  }

  private mutating func readDelimiter(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "{"): functions.isEmpty ? openBlock() : push(.brace)
    case UInt8(ascii: "}"): functions.isEmpty ? closeBlock() : pop(.brace)
    case UInt8(ascii: ";") where functions.isEmpty:
      finishImport()
      statement = .start
    case UInt8(ascii: "("): push(.parenthesis)
    case UInt8(ascii: "["): push(.bracket)
    case UInt8(ascii: ")"): pop(.parenthesis)
    case UInt8(ascii: "]"): pop(.bracket)
    case UInt8(ascii: ","): if functions.last == .imageSet { finishCandidate() }
    case UInt8(ascii: ":") where functions.isEmpty: if statement == .name { statement = .declaration }
    default: break
    }
  }

  private mutating func openBlock() {
    mayImport = false
    importURL = nil
    let hasImages = statement != .atRule(hasImages: false) && blocks.last ?? true
    if blocks.count < Self.maximumDepth { blocks.append(hasImages) } else { skippedDepth += 1 }
    statement = .start
  }

  private mutating func closeBlock() {
    if skippedDepth > 0 { skippedDepth -= 1 } else { _ = blocks.popLast() }
    statement = .start
  }

  private mutating func finishImport() {
    if statement == .importRule, let (url, line) = importURL {
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
  private var isImportTarget: Bool { statement == .importRule && importURL == nil && (functions.isEmpty || functions == [.url]) }

  private var mayHaveImages: Bool {
    statement == .declaration && blocks.last ?? (kind == .declarations)
      && !Self.otherProperties.contains { property.elementsEqual($0.utf8) }
  }

  private mutating func readURL() {
    if !hasFixedLine {
      // The second half of a line break at the edge would count again, but no token starts there.
      line.number += UnsafeRawBufferPointer(rebasing: text[line.offset..<tokenizer.start]).lineBreaks
      line.offset = tokenizer.start
    }
    let line = line.number
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

  private var origin: PageOrigin { PageOrigin(element: "style", attribute: String(decoding: property.prefix(64), as: UTF8.self)) }
}
