import CGumbo
import Base

/// The encoding of a page or stylesheet (WHATWG Encoding Standard).
struct PageEncoding: Hashable {
  /// The name for iconv; nil: UTF-8, which gumbo and the CSS scanner read, replacing invalid bytes.
  let converted: String?

  static let utf8 = PageEncoding(converted: nil)
  static let windows1252 = PageEncoding(converted: "CP1252")
  private static let utf16 = [PageEncoding(converted: "UTF-16LE"), PageEncoding(converted: "UTF-16BE")]

  private init(converted: String?) { self.converted = converted }

  /// Returns the encoding of a label, such as `iso-8859-1`; nil if it isn't known (section 4.2).
  init?(label: some Sequence<UInt8>) {
    let bytes = label.lazy.map(\.asciiLowercased).drop { $0.isASCIIWhitespace }
    var name = String(decoding: Array(bytes.prefix(32)), as: UTF8.self)
    while let last = name.utf8.last, last.isASCIIWhitespace { name.removeLast() }
    guard let converted = Self.labels[name] else { return nil }
    self = converted == "UTF-8" ? .utf8 : PageEncoding(converted: converted)
  }

  /// Returns the encoding that a byte order mark states, with the mark's length.
  static func byteOrderMark(of bytes: UnsafeRawBufferPointer) -> (PageEncoding, Int)? {
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) { return (.utf8, 3) }
    if bytes.starts(with: [0xff, 0xfe]) { return (utf16[0], 2) }
    if bytes.starts(with: [0xfe, 0xff]) { return (utf16[1], 2) }
    return nil
  }

  /// Returns the encoding that a `Content-Type` states.
  init?(contentType: String?) {
    guard let contentType, let label = Self.value(of: "charset", in: Array(contentType.utf8)[...]) else { return nil }
    self.init(label: label)
  }

  /// Returns the encoding of a page, or else of a stylesheet, and the length of its mark: by the mark, the `Content-Type`, a
  /// declaration in the text, or the bytes.
  static func of(_ bytes: UnsafeRawBufferPointer, contentType: String?, isPage: Bool) -> (PageEncoding, markBytes: Int) {
    if let mark = byteOrderMark(of: bytes) { return mark }
    if let encoding = PageEncoding(contentType: contentType) { return (encoding, 0) }
    guard let encoding = isPage ? declared(in: bytes) : charsetRule(in: bytes) else {
      return (!isPage || String(validating: bytes, as: UTF8.self) != nil ? .utf8 : .windows1252, 0)
    }
    // A text whose declaration could be read as ASCII isn't UTF-16.
    return (utf16.contains(encoding) ? .utf8 : encoding, 0)
  }

  /// The encoding that a stylesheet declares at its start (CSS Syntax, section 3.2).
  private static func charsetRule(in bytes: UnsafeRawBufferPointer) -> PageEncoding? {
    let rule = "@charset \"".utf8
    guard bytes.starts(with: rule) else { return nil }
    return PageEncoding(label: bytes.prefix(1024).dropFirst(rule.count).prefix { $0 != 0x22 })
  }

  /// Returns the bytes in UTF-8, with invalid ones replaced; at most `maximum` bytes. Nil if they are UTF-8 already.
  func utf8(of bytes: UnsafeRawBufferPointer, maximum: Int) -> [UInt8]? {
    guard let converted, let converter = TextConverter(from: converted, replacesInvalid: true) else { return nil }
    return Array(converter.utf8(of: bytes, isLast: true, maximum: maximum).prefix(maximum))
  }

  /// The encoding that a `meta` element in a page's first bytes declares, before the page can be parsed (HTML Standard, section
  /// 13.2.3.2, "prescan a byte stream to determine its encoding").
  private static func declared(in bytes: UnsafeRawBufferPointer) -> PageEncoding? {
    let limits = PageLimits()
    let tree = HTMLTree(UnsafeRawBufferPointer(rebasing: bytes.prefix(1024)), limits, remainingBytes: limits.treeBytes)
    var found: PageEncoding?
    tree.forEachElement { element in
      guard found == nil, element.tag == GUMBO_TAG_META else { return }
      let isPragma = element.attribute("http-equiv").map { $0.equals("content-type") } ?? false
      let content = isPragma ? element.attribute("content").flatMap { value(of: "charset", in: Array($0)[...]) } : nil
      found = (element.attribute("charset").map { Array($0)[...] } ?? content).flatMap { PageEncoding(label: $0) }
    }
    return found
  }

  /// Returns the value of a name, such as `charset` in a `Content-Type` or a `content` attribute (HTML Standard, section 2.7.3,
  /// "extracting a character encoding from a meta element").
  static func value(of name: String, in text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    let key = name.utf8
    var rest = text
    while !rest.isEmpty {
      guard rest.lazy.map(\.asciiLowercased).starts(with: key) else {
        rest.removeFirst()
        continue
      }
      rest = rest.dropFirst(key.count).drop { $0.isASCIIWhitespace }
      guard rest.first == UInt8(ascii: "=") else { continue }
      rest = rest.dropFirst().drop { $0.isASCIIWhitespace }
      if let quote = rest.first, quote == 0x22 || quote == 0x27 {
        guard let end = rest.dropFirst().firstIndex(of: quote) else { return nil }
        return rest[(rest.startIndex + 1)..<end]
      }
      return rest.prefix { !$0.isASCIIWhitespace && $0 != UInt8(ascii: ";") }
    }
    return nil
  }

  /// The common labels of the standard, with the names that glibc has for their encodings.
  private static let labels: [String: String] = {
    let names: [(String, String)] = [
      ("UTF-8", "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8"),
      (
        "CP1252",
        "iso-8859-1 latin1 us-ascii ascii windows-1252 cp1252 x-cp1252 iso8859-1 iso_8859-1 iso88591 l1 cp819 ibm819 ansi_x3.4-1968"
          + " x-user-defined"
      ),
      ("CP1250", "windows-1250 cp1250 x-cp1250"), ("CP1251", "windows-1251 cp1251 x-cp1251"),
      ("CP1253", "windows-1253 cp1253 x-cp1253"),
      ("CP1254", "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 iso_8859-9 latin5 l5"),
      ("CP1255", "windows-1255 cp1255 x-cp1255"), ("CP1256", "windows-1256 cp1256 x-cp1256"),
      ("CP1257", "windows-1257 cp1257 x-cp1257"), ("CP1258", "windows-1258 cp1258 x-cp1258"),
      ("CP874", "windows-874 tis-620 iso-8859-11 iso8859-11 dos-874"), ("IBM866", "ibm866 866 cp866 csibm866"),
      ("ISO-8859-2", "iso-8859-2 iso8859-2 iso_8859-2 latin2 l2"), ("ISO-8859-3", "iso-8859-3 latin3 l3"),
      ("ISO-8859-4", "iso-8859-4 latin4 l4"), ("ISO-8859-5", "iso-8859-5 cyrillic"), ("ISO-8859-6", "iso-8859-6 arabic"),
      ("ISO-8859-7", "iso-8859-7 greek"), ("ISO-8859-8", "iso-8859-8 iso-8859-8-i hebrew visual logical"),
      ("ISO-8859-10", "iso-8859-10 latin6 l6"), ("ISO-8859-13", "iso-8859-13"), ("ISO-8859-14", "iso-8859-14"),
      ("ISO-8859-15", "iso-8859-15 latin9 l9 iso8859-15 iso_8859-15"), ("ISO-8859-16", "iso-8859-16"),
      ("KOI8-R", "koi8-r koi8 koi koi8_r cskoi8r"), ("KOI8-U", "koi8-u koi8-ru"), ("MACINTOSH", "macintosh mac x-mac-roman"),
      ("GB18030", "gbk gb2312 gb_2312-80 chinese x-gbk gb18030 csgb2312"),
      ("BIG5-HKSCS", "big5 big5-hkscs cn-big5 x-x-big5 csbig5"),
      ("CP932", "shift_jis shift-jis sjis ms_kanji windows-31j x-sjis ms932 csshiftjis"), ("EUC-JP-MS", "euc-jp x-euc-jp"),
      ("ISO-2022-JP", "iso-2022-jp csiso2022jp"),
      ("CP949", "euc-kr ks_c_5601-1987 korean windows-949 ksc5601 ks_c_5601-1989 ksc_5601"),
      ("UTF-16LE", "utf-16le utf-16 ucs-2 unicode iso-10646-ucs-2 csunicode unicodefeff"), ("UTF-16BE", "utf-16be unicodefffe"),
    ]
    let pairs = names.flatMap { name, labels in labels.split(separator: " ").map { (String($0), name) } }
    return Dictionary(uniqueKeysWithValues: pairs)
  }()
}
