import Base

/// The path of a file for a URL: `host/path…`. Two URLs never have the same path, and no file has a folder's.
///
/// - The first folder is the host in lower case: for https without port, `img.example.com`; for http, `img.example.com:80`, or
///   the port in the URL.
/// - The folders of the path follow. If a name has a dot or tilde, a tilde is appended, so that it differs from any file's name.
/// - The file's name is the last part of the path if that has a dot and if such plain names represent the whole URL.
/// - Otherwise 32 digits, MD5 of the URL as first written, precede the extension: for a query, a fragment, another scheme, a name
///   that has no dot, has a tilde or is too long, and bytes that aren't plain. `a.jpg?w=1` becomes `a~w=1~<digits>.jpg`.
/// - An image in another format has that format's extension, replacing an image extension or following any other; two URLs may then
///   have the same name.
/// - Plain bytes are letters, digits, and `-_.%@+,=`; others become `_`. Percent-encoding is kept as written. A name doesn't start
///   with a dot, so that no path leaves the folder and no file is hidden.
struct URLPathName {
  /// The maximum number of bytes taken from the URL for one name; a file's name has room for the digits too.
  private static let longestPart = 120
  private static let longestQuery = 80
  static let deepestPath = 12
  /// The maximum length of an extension that is kept after the digits, in bytes.
  private static let longestExtension = 12

  let folders: [String]
  let file: String

  var path: String { (folders + [file]).joined(separator: "/") }

  /// Creates the name of a URL without credentials; `digits` are those of ``AppFileName/digits(of:)``.
  ///
  /// - Parameter format: the image's format, if the extension must match it.
  init(url: UnsafeRawBufferPointer, digits: String, format: ImageFormat? = nil) {
    let parts = ExportedURL(url)
    var isPlain = parts.isRegular && parts.fragment == nil && parts.query == nil
    func plain(_ bytes: Slice<UnsafeRawBufferPointer>, extra: String = "") -> String {
      let (name, isSame) = Self.plainName(bytes, extra: extra)
      if !isSame { isPlain = false }
      return name
    }
    let writtenHost = plain(parts.host, extra: "[:]")
    var host = writtenHost.lowercased()
    if host != writtenHost { isPlain = false }
    if let port = parts.shownPort { host += ":" + plain(port) }
    let path = parts.path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
    if path.count > Self.deepestPath + 1 { isPlain = false }
    let inner = path.dropLast().prefix(Self.deepestPath).map { Self.folderName(plain($0)) }
    let last = path.last.map { plain($0) } ?? "_"
    folders = [host] + inner
    let name: String
    if isPlain && last.contains(".") && !last.contains("~") {
      name = last
    } else {
      let query = parts.query.map { "~" + Self.plainName($0.prefix(Self.longestQuery), extra: "").name } ?? ""
      let (stem, suffix) = Self.split(last)
      name = "\(stem)\(query == "~_" ? "" : query)~\(digits)\(suffix)"
    }
    file = format.map { Self.name(name, as: $0) } ?? name
  }

  private static func name(_ name: String, as format: ImageFormat) -> String {
    let (stem, suffix) = split(name)
    let written = ImageFormat(fileExtension: suffix.dropFirst())
    if written == format { return name }
    return "\(written == nil ? name : stem).\(format.fileExtension)"
  }

  // MARK: Allowed names

  /// Whether the name can be the folder of a host: it has a dot, or a colon before the port.
  static func mayBeHost(_ name: String) -> Bool {
    hasPlainBytes(name, extra: "[:]") && (name.contains(".") || name.contains(":")) && name == name.lowercased()
  }

  /// Whether a folder of a URL's path can have that name.
  static func mayBeFolder(_ name: String) -> Bool {
    hasPlainBytes(name) && name == folderName(name.hasSuffix("~") ? String(name.dropLast()) : name)
  }

  /// Whether the file of a URL can have that name.
  static func mayBeFile(_ name: String) -> Bool {
    guard hasPlainBytes(name) else { return false }
    guard let tilde = name.lastIndex(of: "~") else { return name.contains(".") }
    let digits = name[name.index(after: tilde)...].utf8
    let rest = digits.dropFirst(AppFileName.digitCount)
    return digits.count - rest.count == AppFileName.digitCount
      && digits.prefix(AppFileName.digitCount).allSatisfy(isHexadecimalDigit)
      && (rest.isEmpty || rest.first == UInt8(ascii: "."))
  }

  static func hasPlainBytes(_ name: String, extra: String = "") -> Bool {
    name.utf8.first != UInt8(ascii: ".") && name.utf8.allSatisfy { isPlain($0) || extra.utf8.contains($0) }
  }

  private static func folderName(_ name: String) -> String {
    name.contains(where: { $0 == "." || $0 == "~" }) ? name + "~" : name
  }

  static func plainName(_ text: String) -> String {
    var text = text
    return text.withUTF8 { plainName(UnsafeRawBufferPointer($0)[...], extra: "").name }
  }

  /// The bytes as a name, and whether they are unchanged.
  private static func plainName(_ bytes: Slice<UnsafeRawBufferPointer>, extra: String) -> (name: String, isSame: Bool) {
    var name = bytes.prefix(longestPart).map { isPlain($0) || extra.utf8.contains($0) ? $0 : UInt8(ascii: "_") }
    if name.first == UInt8(ascii: ".") { name[0] = UInt8(ascii: "_") }
    if name.isEmpty { name = [UInt8(ascii: "_")] }
    return (String(decoding: name, as: UTF8.self), name.elementsEqual(bytes))
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "-_.%@+,=~".utf8.contains(byte)
    }
  }

  /// The name and its extension with the dot; the extension is empty if there is none to keep.
  private static func split(_ name: String) -> (stem: String, suffix: String) {
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return (name, "") }
    let suffix = name[dot...]
    guard suffix.utf8.count > 1, suffix.utf8.count <= longestExtension + 1, !suffix.contains("~") else { return (name, "") }
    return (String(name[..<dot]), String(suffix))
  }
}

/// The parts of a URL that ``URLPathName`` uses.
private struct ExportedURL {
  let host: Slice<UnsafeRawBufferPointer>
  /// The port that the first folder shows.
  let shownPort: Slice<UnsafeRawBufferPointer>?
  /// From the first slash; empty if there is none.
  let path: Slice<UnsafeRawBufferPointer>
  let query: Slice<UnsafeRawBufferPointer>?
  let fragment: Slice<UnsafeRawBufferPointer>?
  /// Whether the first folder fully represents scheme and port.
  let isRegular: Bool

  private static let plainHTTPPort: StaticString = "80"

  init(_ url: UnsafeRawBufferPointer) {
    let (beforeFragment, fragment) = Self.cut(url[...], at: "#")
    let (hierarchy, query) = Self.cut(beforeFragment, at: "?")
    let colon = hierarchy.firstIndex(of: UInt8(ascii: ":")) ?? hierarchy.startIndex
    let scheme = hierarchy[..<colon]
    let hasAuthority = hierarchy[colon...].starts(with: "://".utf8)
    let rest = hasAuthority ? hierarchy[(colon + 3)...] : hierarchy
    let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
    let (host, port) = Self.hostAndPort(rest[..<slash])
    path = rest[slash...]
    self.query = query
    self.fragment = fragment
    self.host = host
    let standard = UnsafeRawBufferPointer(start: Self.plainHTTPPort.utf8Start, count: Self.plainHTTPPort.utf8CodeUnitCount)
    let isHTTP = scheme.elementsEqual("http".utf8)
    shownPort = port ?? (isHTTP ? standard[...] : nil)
    isRegular =
      hasAuthority
      && (isHTTP ? port.map { !$0.elementsEqual(standard) } ?? true : scheme.elementsEqual("https".utf8) && port == nil)
  }

  private static func hostAndPort(
    _ authority: Slice<UnsafeRawBufferPointer>
  ) -> (Slice<UnsafeRawBufferPointer>, Slice<UnsafeRawBufferPointer>?) {
    // Colons of an address in brackets don't begin a port.
    let bracket = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
    guard let colon = authority[bracket...].lastIndex(of: UInt8(ascii: ":")) else { return (authority, nil) }
    return (authority[..<colon], authority[(colon + 1)...])
  }

  private static func cut(
    _ text: Slice<UnsafeRawBufferPointer>,
    at mark: Unicode.Scalar
  ) -> (Slice<UnsafeRawBufferPointer>, Slice<UnsafeRawBufferPointer>?) {
    guard let index = text.firstIndex(of: UInt8(ascii: mark)) else { return (text, nil) }
    return (text[..<index], text[(index + 1)...])
  }
}

/// Whether a URL has a user name or password, which records show as `***`.
func hasCredentials(_ url: UnsafeRawBufferPointer) -> Bool {
  let start = url.firstIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? 0
  let authority = url[start...].drop { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    .prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
  return authority.contains(UInt8(ascii: "@"))
}

/// A pattern for the names of exported files, such as `{id}.{ext}`.
///
/// | field | value |
/// |---|---|
/// | `{id}` | the identifier in the list; without one, the hash |
/// | `{hash}` | MD5 of the URL, in 32 digits |
/// | `{host}` | the host, with a port as in ``ExportLayout/urlPath`` |
/// | `{path}` | path and name as in ``ExportLayout/urlPath``, with a hash for a query; only at the end |
/// | `{ext}` | the extension of the image's format |
///
/// Bytes of a value that a name can't have become `_`. A name that another URL has already gets the hash before its extension.
package struct NamePattern: Sendable, Hashable {
  /// A field, named as in patterns.
  enum Field: String, CaseIterable {
    case id, hash, host, path, ext
  }

  enum Part: Sendable, Hashable {
    case text(String)
    case field(Field)
  }

  let parts: [Part]

  private static let fieldList = Field.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")

  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  package init(_ text: String) throws(Failure) {
    var parts: [Part] = []
    var rest = text[...]
    while let start = rest.firstIndex(of: "{") {
      guard let end = rest[start...].firstIndex(of: "}"), let field = Field(rawValue: String(rest[start...].dropFirst()[..<end]))
      else { throw Failure(description: "has an unknown field; use \(Self.fieldList)") }
      parts += [.text(String(rest[..<start])), .field(field)]
      rest = rest[rest.index(after: end)...]
    }
    parts.append(.text(String(rest)))
    self.parts = parts.filter { $0 != .text("") }
    try check(text)
  }

  private func check(_ text: String) throws(Failure) {
    let fields = parts.compactMap { part in if case .field(let field) = part { field } else { nil } }
    guard fields.contains(where: { [.id, .hash, .path].contains($0) }) else {
      throw Failure(description: "gives all images of a host one name; add {id}, {hash} or {path}")
    }
    if let index = parts.firstIndex(of: .field(.path)), index != parts.count - 1 {
      throw Failure(description: "has more after {path}, which ends with the file's name")
    }
    for name in text.split(separator: "/", omittingEmptySubsequences: false) {
      guard !name.isEmpty, !name.hasPrefix("."), URLPathName.hasPlainBytes(String(name), extra: "{}") else {
        throw Failure(description: "has a name that is empty, hidden or has other characters than letters, digits and -_.%@+,=~")
      }
    }
  }

  /// Whether names contain the identifiers of lists.
  package var usesIDs: Bool { parts.contains(.field(.id)) }

  /// The folders and the file of an image; `transformedFormat` is its format if a transformer made it.
  func name(
    _ url: UnsafeRawBufferPointer,
    digits: String,
    id: String?,
    format: ImageFormat?,
    _ transformedFormat: ImageFormat?
  ) -> (folders: [String], file: String) {
    let layout = URLPathName(url: url, digits: digits, format: transformedFormat)
    let path = parts.map { part in
      switch part {
      case .text(let text): text
      case .field(.id): id.flatMap { $0.isEmpty ? nil : URLPathName.plainName($0) } ?? digits
      case .field(.hash): digits
      case .field(.host): layout.folders[0]
      case .field(.path): (layout.folders.dropFirst() + [layout.file]).joined(separator: "/")
      case .field(.ext): format?.fileExtension ?? "img"
      }
    }.joined()
    let names = path.split(separator: "/").map(String.init)
    return (names.dropLast(), names.last ?? digits)
  }
}
