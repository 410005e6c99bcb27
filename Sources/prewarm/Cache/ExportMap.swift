import Glibc
import Base
import Reports

/// The files of an export with their URLs: as JSON Lines, and as a `map` of nginx.
struct ExportMap {
  private struct Item {
    var url: String
    var id: String?
    var file: String
    var bytes: Int
  }

  private var items: [Item] = []
  /// By file: a newer image of a URL replaces an older one.
  private var indices: [String: Int] = [:]

  mutating func add(_ url: [UInt8], id: String?, file: String, bytes: Int) {
    let item = Item(url: String(decoding: url, as: UTF8.self), id: id, file: file, bytes: bytes)
    if let index = indices[file] {
      items[index] = item
    } else {
      indices[file] = items.count
      items.append(item)
    }
  }

  /// An object per line: the URL, its identifier in the list, the file and its length.
  var jsonLines: String {
    items.map { JSONTree.sorted(["url": $0.url, "id": $0.id, "file": $0.file, "bytes": $0.bytes]).line + "\n" }.joined()
  }

  /// A map from the host and target of a request to a file, and how many URLs it lacks.
  ///
  /// nginx compares strings without regard to case (`ngx_http_map_module`), so targets that differ only in case need regular expressions.
  /// Targets that two URLs share, with http and https, have the file of the first one.
  func nginx(folder: String) -> (text: String, lacking: Int) {
    let normalizer = URLNormalizer()
    var (files, order): ([String: String], [String]) = ([:], [])
    for item in items {
      guard let key = Self.key(item.url, normalizer), files[key] == nil else { continue }
      files[key] = item.file
      order.append(key)
    }
    let spellings = Dictionary(grouping: order) { $0.lowercased() }
    let longest = order.map(\.utf8.count).max() ?? 0
    var bucket = 64
    while bucket < 2 * (longest + 32) { bucket *= 2 }
    var lines = [
      "# Written by prewarm cache export. Include it in http { } before other maps, and use it in a server:",
      "#   root \(escapedForTerminal(folder)); location / { try_files /$prewarm_file =404; }",
      "map_hash_max_size \(max(2048, 2 * order.count));",
      "map_hash_bucket_size \(bucket);",
      "map $http_host$request_uri $prewarm_file {",
      "  default \"\";",
    ]
    for key in order {
      let isUnique = spellings[key.lowercased()]?.count == 1
      lines.append("  \"\(isUnique ? Self.quoted(key) : Self.expression(key))\" \"\(Self.quoted(files[key] ?? ""))\";")
    }
    return ((lines + ["}"]).joined(separator: "\n") + "\n", items.count - order.count)
  }

  /// Host, path and query as in a request; nil for a URL that nginx doesn't accept in a request.
  private static func key(_ url: String, _ normalizer: URLNormalizer) -> String? {
    var (url, bytes): (String, [UInt8]) = (url, [])
    let parts = url.withUTF8 { try? normalizer.normalize(UnsafeRawBufferPointer($0), relativeTo: nil, into: &bytes) }
    guard let parts else { return nil }
    return String(decoding: bytes[parts.hostAndPort.lowerBound..<parts.requestTarget.upperBound], as: UTF8.self)
  }

  private static func quoted(_ text: String) -> String {
    String(text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] })
  }

  /// A regular expression for exactly this text.
  private static func expression(_ text: String) -> String {
    let plain = text.utf8.map { byte in
      let isPlain =
        byte == UInt8(ascii: "/") || Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
      return isPlain && byte < 0x80 ? String(Unicode.Scalar(byte)) : "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return "~^\(plain.joined())$"
  }
}
