import ImagePrimitives

/// The path of a file that stands for a URL in a folder: `host/path…`. Two URLs never have one name, and no file has a folder's.
///
/// - The first folder is the host in lower case: for https without port, `img.example.com`; for http, `img.example.com:80`, or
///   the port that is written.
/// - Folders of the path follow. One with a dot or a tilde in its name gets a tilde at its end, so that it is no file's name.
/// - The file has the last part of the path as its name, if that has a dot and all of the URL is said by such plain names.
/// - Everything else is told by 32 digits, MD5 of the URL as first written, before the extension: a query, a fragment, another
///   scheme, a name without a dot, with a tilde or too long, and bytes that are not plain. `a.jpg?w=1` is `a~w=1~<digits>.jpg`.
/// - An image that was made in another format has that format's extension, in place of an image's or behind any other: then two URLs may
///   have one name.
/// - Plain bytes are letters, digits, and `-_.%@+,=`; others show as `_`. Percent-encoding stays as it is written. A dot does not
///   begin a name, so that nothing leads out of the folder or hides in it.
struct URLPathName {
  /// Bytes of one name that are taken from the URL, at most; a file's name has room for the digits too.
  private static let longestPart = 120
  /// Bytes of a query that are shown, at most.
  private static let longestQuery = 80
  /// Folders of the path, at most.
  static let deepestPath = 12
  /// Bytes of an extension that stays behind the digits, at most.
  private static let longestExtension = 12

  /// The folders, from the outermost on.
  let folders: [String]
  /// The file's name.
  let file: String

  /// The whole path below the export's folder.
  var path: String { (folders + [file]).joined(separator: "/") }

  /// The name of a URL without credentials; `digits` are those of ``AppFileName/digits(of:)``.
  ///
  /// - Parameter format: the format of the image, if its extension must be that one's.
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

  /// The name with an extension of the format.
  private static func name(_ name: String, as format: ImageFormat) -> String {
    let (stem, suffix) = split(name)
    let written = ImageFormat(fileExtension: suffix.dropFirst())
    if written == format { return name }
    return "\(written == nil ? name : stem).\(format.fileExtension)"
  }

  // MARK: What a name may be

  /// Whether it looks like the folder of a host: it has a dot, or a colon before the port.
  static func mayBeHost(_ name: String) -> Bool {
    hasPlainBytes(name, extra: "[:]") && (name.contains(".") || name.contains(":")) && name == name.lowercased()
  }

  /// Whether a folder of a URL's path may have that name.
  static func mayBeFolder(_ name: String) -> Bool { hasPlainBytes(name) && name == folderName(String(name.drop(suffix: "~"))) }

  /// Whether the file of a URL may have that name.
  static func mayBeFile(_ name: String) -> Bool {
    guard hasPlainBytes(name) else { return false }
    guard let tilde = name.lastIndex(of: "~") else { return name.contains(".") }
    let digits = name[name.index(after: tilde)...].utf8
    let rest = digits.dropFirst(AppFileName.digitCount)
    return digits.count - rest.count == AppFileName.digitCount
      && digits.prefix(AppFileName.digitCount).allSatisfy(isHexadecimalDigit)
      && (rest.isEmpty || rest.first == UInt8(ascii: "."))
  }

  private static func hasPlainBytes(_ name: String, extra: String = "") -> Bool {
    name.utf8.first != UInt8(ascii: ".") && name.utf8.allSatisfy { isPlain($0) || extra.utf8.contains($0) }
  }

  private static func folderName(_ name: String) -> String {
    name.contains(where: { $0 == "." || $0 == "~" }) ? name + "~" : name
  }

  /// The bytes as a name, and whether it is just they.
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

  /// The name and its extension with the dot; the latter empty where it is none to keep.
  private static func split(_ name: String) -> (stem: String, suffix: String) {
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return (name, "") }
    let suffix = name[dot...]
    guard suffix.utf8.count > 1, suffix.utf8.count <= longestExtension + 1, !suffix.contains("~") else { return (name, "") }
    return (String(name[..<dot]), String(suffix))
  }
}

/// A URL cut into what ``URLPathName`` is made of.
private struct ExportedURL {
  let host: Slice<UnsafeRawBufferPointer>
  /// The port that the first folder shows.
  let shownPort: Slice<UnsafeRawBufferPointer>?
  /// From the first slash on; empty where there is none.
  let path: Slice<UnsafeRawBufferPointer>
  let query: Slice<UnsafeRawBufferPointer>?
  let fragment: Slice<UnsafeRawBufferPointer>?
  /// Whether scheme and port are said by the first folder alone.
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
    // The colons of an address in brackets begin no port.
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

extension String {
  /// The text without that end, if it has it.
  fileprivate func drop(suffix: String) -> Substring { hasSuffix(suffix) ? dropLast(suffix.count) : self[...] }
}

/// Whether a URL has a user name or a password, shown as `***` in every record.
func hasCredentials(_ url: UnsafeRawBufferPointer) -> Bool {
  let start = url.firstIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? 0
  let authority = url[start...].drop { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    .prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
  return authority.contains(UInt8(ascii: "@"))
}
