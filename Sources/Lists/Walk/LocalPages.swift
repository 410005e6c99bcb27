import Glibc
import Base

/// The HTML files of a folder, such as the output of a site generator, as pages of its site.
enum LocalPages {
  /// More than any site that is checked before a deploy, so that a wrong folder ends early.
  private static let maximumCount = 100_000
  private static let maximumDepth = 64

  /// Whether a file is a page by its name.
  static func isPage(_ path: String) -> Bool {
    let name = path.lowercased()
    return name.hasSuffix(".html") || name.hasSuffix(".htm") || name.hasSuffix(".xhtml")
  }

  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The pages of a folder. The URL of each is its path below the base; that of `index.html` is its folder's.
  static func files(in folder: String, of list: URLList, index: Int) throws(ListError) -> [ListFile] {
    let trimmed = list.name.hasSuffix("/") ? String(list.name.dropLast()) : list.name
    var files: [ListFile] = []
    for path in try relativePaths(in: folder, of: list) {
      var file = ListFile(list: index, name: "\(trimmed)/\(path)", location: .path("\(folder)/\(path)"))
      file.base = list.baseURL.flatMap { url(of: path, below: $0) }
      files.append(file)
    }
    return files
  }

  static func paths(in folder: String, of list: URLList) throws(ListError) -> [String] {
    try relativePaths(in: folder, of: list).map { "\(folder)/\($0)" }
  }

  private static func url(of path: String, below base: BaseURL) -> BaseURL? {
    var text = Array(base.bytes[..<base.parts.path.upperBound])
    if text.last != UInt8(ascii: "/") { text.append(UInt8(ascii: "/")) }
    let name = path.split(separator: "/").last ?? ""
    let isIndex = name.lowercased() == "index.html" || name.lowercased() == "index.htm"
    for byte in isIndex ? path.dropLast(name.count).utf8 : path[...].utf8 {
      // These would end the path, or be an escape.
      switch byte {
      case UInt8(ascii: "?"): text += "%3F".utf8
      case UInt8(ascii: "#"): text += "%23".utf8
      case UInt8(ascii: "%"): text += "%25".utf8
      default: text.append(byte)
      }
    }
    return try? BaseURL(String(decoding: text, as: UTF8.self))
  }

  /// The paths of pages below a folder, sorted by their bytes; hidden files and folders are skipped, and links to folders, which
  /// may form a circle.
  private static func relativePaths(in folder: String, of list: URLList) throws(ListError) -> [String] {
    var pages: [String] = []
    var folders = [(path: "", depth: 0)]
    while let (path, depth) = folders.popLast() {
      guard let names = names(inFolder: path.isEmpty ? folder : "\(folder)/\(path)") else {
        throw ListError(manifest: list.name, message: "cannot read its folder '\(path)': \(errorSentence())")
      }
      for name in names where !name.hasPrefix(".") {
        let child = path.isEmpty ? name : "\(path)/\(name)"
        var status = stat()
        guard lstat("\(folder)/\(child)", &status) == 0 else { continue }
        if status.st_mode & S_IFMT == S_IFDIR, depth < maximumDepth { folders.append((child, depth + 1)) }
        guard isPage(name), status.st_mode & S_IFMT != S_IFDIR, !isFolder("\(folder)/\(child)") else { continue }
        guard pages.count < maximumCount else {
          throw ListError(manifest: list.name, message: "the folder has more than \(maximumCount) pages; name a folder in it")
        }
        pages.append(child)
      }
    }
    guard !pages.isEmpty else {
      let message = "the folder has no HTML files; name lists in it with a pattern such as lists/*.txt"
      throw ListError(manifest: list.name, message: message)
    }
    return pages.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
