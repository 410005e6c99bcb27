import ImageURLs

extension Manifest {
  /// The format of a file of this manifest as far as the job and the file's name tell; ``Format/auto`` where its beginning does.
  func format(of file: ManifestFile) -> Format {
    // What an index names is a sitemap, or a text (https://www.sitemaps.org/protocol.html#otherformats).
    if file.depth > 0 { return .auto }
    guard format == .auto else { return format }
    let path =
      switch file.place {
      case .path(let path): path
      case .url(let url): String(decoding: url.bytes[url.parts.path], as: UTF8.self)
      case .standardInput, nil: ""
      }
    return Self.format(ofPath: path.lowercased())
  }

  /// The format of a fetched file of this manifest, by what the server calls it where its name says nothing.
  func format(of file: ManifestFile, contentType: String?) -> Format {
    let format = format(of: file)
    guard format == .auto, file.depth == 0, let contentType else { return format }
    let type = contentType.prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
    return switch type {
    case "text/csv": .csv
    case "text/tab-separated-values": .tsv
    case "application/jsonl", "application/x-ndjson", "application/x-jsonlines", "application/ndjson": .jsonl
    default: .auto
    }
  }

  /// Whether rows of a file may name a priority of their own; nil where its beginning tells.
  func mayNamePriority(in file: ManifestFile) -> Bool? {
    switch format(of: file) {
    case .text, .combined: return false
    case .jsonl: return true
    case .csv, .tsv: return nil
    case .sitemap: return usesSitemapPriority
    case .auto:
      // What has no name, or comes with a type, may turn out to be anything.
      if case .url? = file.place { return nil }
      return usesSitemapPriority ? nil : false
    }
  }

  private static func format(ofPath path: String) -> Format {
    let name = path.hasSuffix(".gz") ? String(path.dropLast(3)) : path
    if name.hasSuffix(".csv") { return .csv }
    if name.hasSuffix(".tsv") || name.hasSuffix(".tab") { return .tsv }
    if name.hasSuffix(".jsonl") || name.hasSuffix(".ndjson") { return .jsonl }
    return name.hasSuffix(".xml") ? .sitemap : .auto
  }
}
