import Base

/// What the first bytes of a list show about its format.
enum ListBeginning {
  case text, xml, page, log, robots
  /// JSON: a value per line, or a document.
  case jsonLines, jsonDocument
  case csv
  /// An image, with the name of its format.
  case image(String)
  /// It isn't a list: what it looks like, and what to do.
  case other(String, remedy: String)

  /// The number of lines that decide if the first doesn't.
  private static let decisiveLines = 8
  private static let formatRemedy = "if it is a list, set its format, such as text"

  /// Returns nil if more bytes are needed, and available since `isLast` is false.
  ///
  /// `isHTML` if its server says so; then text and fragments are a page, too.
  init?(_ bytes: UnsafeRawBufferPointer, isLast: Bool, isHTML: Bool, columns: URLList.Columns) {
    let text = Self.afterBlanks(bytes)
    guard let first = text.first else {
      if !isLast { return nil }
      self = isHTML ? .page : .text
      return
    }
    if !isHTML, let binary = Self.binary(text) {
      self = binary
    } else if first == UInt8(ascii: "<"), text.count > 1 || isLast, text.dropFirst().first.map(Self.isDigit) != true {
      if !isLast, ContentSniff.bytesNeeded(after: text) != nil { return nil }
      self.init(markup: text, isHTML: isHTML)
    } else if first == UInt8(ascii: "<"), text.count == 1 {
      return nil
    } else if isHTML {
      self = .page
    } else if let json = Self.json(text, isLast: isLast, columns) {
      guard let json = json.beginning else { return nil }
      self = json
    } else {
      self.init(lines: text, isLast: isLast, columns)
    }
  }

  /// The text after byte order marks and white space.
  static func afterBlanks(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes.drop { [0xef, 0xbb, 0xbf, 0x20, 0x09, 0x0a, 0x0d].contains($0) })
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}

/// Markup and binary files.
extension ListBeginning {
  private static let xmlRoots = ["<?xml", "<urlset", "<sitemapindex", "<rss", "<feed", "<rdf:rdf"]

  private init(markup text: UnsafeRawBufferPointer, isHTML: Bool) {
    switch ContentSniff(prefix: text) {
    case .html: self = .page
    case .image(let format): self = .image(format.name)
    default:
      let start = String(decoding: Self.afterComments(text).prefix(16), as: UTF8.self).lowercased()
      self = isHTML && !Self.xmlRoots.contains(where: start.hasPrefix) ? .page : .xml
    }
  }

  private static func afterComments(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var rest = text
    while rest.starts(with: "<!--".utf8),
      let end = rest.indices.dropFirst(4).first(where: { rest[$0...].starts(with: "-->".utf8) })
    {
      rest = afterBlanks(UnsafeRawBufferPointer(rebasing: rest[(end + 3)...]))
    }
    return rest
  }

  /// The number of bytes in which a binary file has a NUL.
  private static let binaryBytes = 512

  private static func binary(_ text: UnsafeRawBufferPointer) -> ListBeginning? {
    if let known = BinaryList(text) { return .other(known.name, remedy: known.remedy) }
    guard text.prefix(binaryBytes).contains(0) else { return nil }
    if case .image(let format) = ContentSniff(prefix: text) { return .image(format.name) }
    // XML without a byte order mark is known by its first character; see Expat.
    if text.prefix(2).elementsEqual([0x3c, 0]) || text.prefix(2).elementsEqual([0, 0x3c]) { return .xml }
    let start = text.prefix(16)
    let zero = text[0] == 0 ? 0 : 1
    if start.indices.allSatisfy({ (index: Int) -> Bool in (start[index] == 0) == (index % 2 == zero) }) {
      return .other("UTF-16 without a byte order mark", remedy: "save it as UTF-8")
    }
    return .other("a binary file", remedy: "convert it to text")
  }
}

/// JSON.
extension ListBeginning {
  /// nil for `beginning` means that more bytes are needed.
  private struct Decision {
    var beginning: ListBeginning?
  }

  /// Returns nil if it isn't JSON.
  private static func json(_ text: UnsafeRawBufferPointer, isLast: Bool, _ columns: URLList.Columns) -> Decision? {
    let (line, isWhole, isFollowed) = firstLine(of: text, isLast: isLast)
    switch text[0] {
    case UInt8(ascii: "\""):
      guard isWhole else { return Decision() }
      return line.dropFirst().firstIndex(of: UInt8(ascii: "\"")) == line.count - 1 && line.count > 1
        ? Decision(beginning: .jsonLines) : nil
    case UInt8(ascii: "{"), UInt8(ascii: "["): break
    default: return nil
    }
    guard let second = afterBlanks(UnsafeRawBufferPointer(rebasing: text[1...])).first else {
      return isLast ? nil : Decision()
    }
    if text[0] == UInt8(ascii: "[") {
      return "\"{]".utf8.contains(second) ? Decision(beginning: .jsonDocument) : nil
    }
    guard second == UInt8(ascii: "\"") || second == UInt8(ascii: "}") else { return nil }
    guard isWhole else { return Decision() }
    guard JSONCursor.end(of: line, from: 0) == line.count else { return Decision(beginning: .jsonDocument) }
    // Members of an object on one line may be the list.
    let hasURL = JSONRows(columns).hasURL(line)
    if LogLines.isLog(json: line) { return Decision(beginning: .log) }
    if hasURL || isFollowed { return Decision(beginning: .jsonLines) }
    return isLast ? Decision(beginning: .jsonDocument) : Decision()
  }

  private static func firstLine(
    of text: UnsafeRawBufferPointer,
    isLast: Bool
  ) -> (line: UnsafeRawBufferPointer, isWhole: Bool, isFollowed: Bool) {
    let end = text.firstIndex(of: UInt8(ascii: "\n"))
    let isFollowed = end.map { !afterBlanks(UnsafeRawBufferPointer(rebasing: text[$0...])).isEmpty } ?? false
    return (UnsafeRawBufferPointer(rebasing: text[..<(end ?? text.count)]).trimmed(), end != nil || isLast, isFollowed)
  }

  /// How JSON is read that is expected to have a row per line: as a document only if its first line isn't whole.
  ///
  /// Returns nil if more bytes are needed.
  static func rows(_ bytes: UnsafeRawBufferPointer, isLast: Bool, _ columns: URLList.Columns) -> ListBeginning? {
    let text = afterBlanks(bytes)
    guard let first = text.first else { return isLast ? .jsonLines : nil }
    guard first == UInt8(ascii: "[") || first == UInt8(ascii: "{") else { return .jsonLines }
    let (line, isWhole, isFollowed) = firstLine(of: text, isLast: isLast)
    guard isWhole else { return nil }
    if let end = JSONCursor.end(of: line, from: 0) {
      if end < line.count || JSONRows(columns).hasURL(line) || isFollowed { return .jsonLines }
      return isLast ? .jsonDocument : nil
    }
    // A pretty-printed line ends so; another one is a broken row.
    return line.count > InputBuffer.maximumRowBytes || "[{,".utf8.contains(line[line.count - 1]) ? .jsonDocument : .jsonLines
  }
}

/// Lines.
extension ListBeginning {
  private init?(lines text: UnsafeRawBufferPointer, isLast: Bool, _ columns: URLList.Columns) {
    if text.starts(with: "#!".utf8) {
      self = .other("a script", remedy: Self.formatRemedy)
      return
    }
    var lines: [UnsafeRawBufferPointer] = []
    var rest = text[...]
    while lines.count < Self.decisiveLines, !rest.isEmpty {
      guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? (isLast ? rest.endIndex : nil) else { break }
      let line = UnsafeRawBufferPointer(rebasing: rest[..<end]).trimmed()
      rest = rest[min(end + 1, rest.endIndex)...]
      if ["#Fields:", "#Version:", "#Software:"].contains(where: { line.starts(with: $0.utf8) }) {
        self = .log
        return
      }
      if !line.isEmpty, line[0] != UInt8(ascii: "#") { lines.append(line) }
    }
    guard let first = lines.first else {
      if !isLast { return nil }
      self = .text
      return
    }
    if RobotsReader.begins(first) {
      self = .robots
    } else if CSVHeader.hasURL(first, columns) || first.starts(with: "sep=".utf8) || first.starts(with: "\"sep=".utf8) {
      self = .csv
    } else {
      let kinds = lines.map { TextLine($0) }
      if kinds[0].isReference, !CSVHeader.looksLikeRow(first) {
        self = .text
      } else if lines.count < Self.decisiveLines, !isLast {
        return nil
      } else {
        self.init(lines, kinds, columns)
      }
    }
  }

  /// Decides by all of the first lines.
  private init(_ lines: [UnsafeRawBufferPointer], _ kinds: [TextLine], _ columns: URLList.Columns) {
    let log = LogLines(columns)
    let isLog = lines.contains { if case .request = log.read($0) { true } else { false } }
    let references = kinds.count(where: \.isReference)
    let others = kinds.count { $0.problem != nil }
    if isLog {
      self = .log
    } else if lines.count > 1, lines.prefix(2).allSatisfy(CSVHeader.looksLikeRow) {
      self = .other("CSV without a header row", remedy: "add one with names such as url, and set format: csv")
    } else if lines.count > 1, CSVHeader.isLike(lines[0], lines[1]) {
      self = .csv
    } else if others == 0 || references >= others {
      self = .text
    } else {
      self = Self.named(lines)
    }
  }

  /// A request, or the month of a time.
  private static let logWords: [String] = [
    " HTTP/", "GET /", "GET http", "/Jan/", "/Feb/", "/Mar/", "/Apr/", "/May/", "/Jun/", "/Jul/", "/Aug/", "/Sep/", "/Oct/",
    "/Nov/",
    "/Dec/",
  ]

  private static let scriptWords: [String] = [
    "import ", "export ", "const ", "let ", "var ", "function", "(function", "\"use strict", "'use strict", "// ", "window.",
  ]
  private static let styleWords: [String] = ["@import", "@charset", "@media", ":root", "/*"]
  private static let markdownWords: [String] = ["![", "- ", "* ", "> ", "```", "|", "1. "]

  private static func named(_ lines: [UnsafeRawBufferPointer]) -> ListBeginning {
    let texts: [String] = lines.map { String(decoding: $0.prefix(256), as: UTF8.self) }
    let first = texts[0]
    func begins(_ words: [String]) -> Bool { texts.contains { text in words.contains { text.hasPrefix($0) } } }
    func contain(_ words: [String]) -> Bool { texts.contains { text in words.contains { text.contains($0) } } }
    func allContain(_ word: String) -> Bool { texts.allSatisfy { $0.contains(word) } }
    let isDated = first.utf8.prefix(4).allSatisfy(isDigit) && first.utf8.dropFirst(4).first.map { "-/".utf8.contains($0) } == true
    if isDated || first.hasPrefix("<") || contain(logWords) {
      return .other("a log of an unknown form", remedy: "convert it to the combined format, or to a URL per line")
    }
    if begins(["version:", "name:", "manifests:"]) { return .other("a job file", remedy: "let its name end in .yaml") }
    if begins(scriptWords) { return .other("JavaScript", remedy: formatRemedy) }
    if begins(styleWords) || contain(["{"]) { return .other("CSS or another program's source", remedy: formatRemedy) }
    if first.hasPrefix("[") && first.hasSuffix("]") || first.hasPrefix(";") || allContain("=") {
      return .other("a configuration file", remedy: formatRemedy)
    }
    if first == "---" || first.hasSuffix(":") || allContain(": ") { return .other("YAML", remedy: formatRemedy) }
    if begins(markdownWords) || contain(["]("]) { return .other("Markdown", remedy: formatRemedy) }
    return .other("other text", remedy: formatRemedy)
  }
}

extension TextLine {
  /// Whether it is clearly a URL or a path.
  fileprivate var isReference: Bool {
    switch self {
    case .absolute, .path: true
    case .word, .other: false
    }
  }
}

/// A file that isn't text, known by its first bytes: a table to convert, or lists to unpack.
struct BinaryList {
  let name: String
  /// What to do, with `FILE` in place of the name.
  let remedy: String

  private struct Signature {
    var bytes: [UInt8]
    var list: BinaryList

    init(_ text: String, _ bytes: [UInt8], _ name: String, _ remedy: String) {
      self.bytes = Array(text.utf8) + bytes
      list = BinaryList(name, remedy)
    }
  }

  private static let duckDB = #"convert it: duckdb -c "COPY (SELECT * FROM 'FILE') TO 'FILE.csv'""#
  private static let office = "convert it: soffice --headless --convert-to csv FILE"

  /// The conversion of the table that `expression` reads with a module `t` of pyarrow.
  private static func pyarrow(_ module: String, _ expression: String = "t.read_table('FILE')") -> String {
    #"convert it: python3 -c "import pyarrow.csv as c, pyarrow.\#(module) as t; c.write_csv(\#(expression), 'FILE.csv')""#
  }

  private static let signatures = [
    Signature("PAR1", [], "a Parquet file", duckDB), Signature("PARE", [], "an encrypted Parquet file", "decrypt and convert it"),
    Signature("ORC", [], "an ORC file", pyarrow("orc")),
    Signature("ARROW1", [], "an Arrow or Feather file", pyarrow("feather")),
    Signature("FEA1", [], "a Feather file", pyarrow("feather")),
    Signature("", [0xff, 0xff, 0xff, 0xff], "an Arrow stream", pyarrow("ipc", "t.open_stream(open('FILE', 'rb')).read_all()")),
    Signature("Obj", [1], "an Avro file", "convert it: fastavro FILE > FILE.jsonl"),
    Signature(
      "SQLite format 3",
      [],
      "an SQLite database",
      "export its URLs: sqlite3 -csv -header FILE 'SELECT url FROM images' > FILE.csv"
    ),
    Signature("PK", [3, 4], "a zip archive", "extract it: unzip FILE"),
    Signature("", [0xd0, 0xcf, 0x11, 0xe0], "an Office document", office),
    Signature("%PDF", [], "a PDF file", "save its URLs as text"),
    Signature("BZh", [], "a bzip2 file", "decompress it: bunzip2 -k FILE"),
    Signature("", [0xfd, 0x37, 0x7a, 0x58, 0x5a], "an xz file", "decompress it: unxz -k FILE"),
    Signature("", [0x28, 0xb5, 0x2f, 0xfd], "a zstd file", "decompress it: unzstd FILE"),
    Signature("", [0x04, 0x22, 0x4d, 0x18], "an LZ4 file", "decompress it: lz4 -d FILE"),
    Signature("", [0x1f, 0x9d], "a compress (.Z) file", "decompress it: zcat FILE > FILE.txt"),
    Signature("7z", [0xbc, 0xaf], "a 7z archive", "extract it: 7z x FILE"),
    Signature("Rar!", [0x1a, 7], "a RAR archive", "extract it: unrar x FILE"),
  ]

  private init(_ name: String, _ remedy: String) { (self.name, self.remedy) = (name, remedy) }

  /// Returns nil if the file doesn't begin like one of these.
  init?(_ bytes: UnsafeRawBufferPointer) {
    if let known = Self.signatures.first(where: { bytes.starts(with: $0.bytes) }) {
      // The name of an archive's first file (PKWARE's APPNOTE, section 4.3.7).
      let first = bytes.dropFirst(30)
      let isWorkbook = ["[Content_Types].xml", "_rels/", "xl/", "docProps/", "mimetypeapplication/vnd.oasis"].contains {
        first.starts(with: $0.utf8)
      }
      self = known.bytes.starts(with: "PK".utf8) && isWorkbook ? BinaryList("a spreadsheet", Self.office) : known.list
    } else if bytes.dropFirst(257).starts(with: "ustar".utf8) {
      self.init("a tar archive", "extract it: tar -xf FILE")
    } else {
      return nil
    }
  }

  /// Whether more bytes are needed to know that a file isn't one of these.
  static func mayFollow(_ bytes: UnsafeRawBufferPointer) -> Bool {
    signatures.contains { $0.bytes.count > bytes.count && $0.bytes.starts(with: bytes) }
  }
}
