import CXXHash
import ImagePrimitives
import ImageURLs

extension Manifest {
  /// Which pages that a page links to are read, too.
  public struct Crawl: Sendable {
    /// The number of links that may lead to a page; 0, the default: only the page itself.
    public var depth = 0
    /// The maximum number of pages. Default: 1,000.
    public var pages = 1000
    /// Whether only pages of the first page's scheme, host and port are read. Default: true.
    public var sameSite = true
    /// Only pages that match one of these are read; all if empty, which is the default.
    public var include: [URLPattern] = []
    /// Pages that match one of these aren't read, even if included. Default: none.
    public var exclude: [URLPattern] = []

    public init() {}
  }
}

/// The pages, stylesheets and images that the pages of one manifest have named. Each is read once.
///
/// Pages are read in the order of their distance from the first.
final class PageCrawl {
  /// The maximum number of imports that lead to a stylesheet.
  private static let maximumImports = 8
  /// The maximum number of stylesheets.
  private static let maximumStylesheets = 10_000
  /// The maximum memory of the URLs of pages and stylesheets.
  private static let maximumURLBytes = 16 << 20

  let rules: Manifest.Crawl
  /// The pages that follow, by the index of their file.
  var ahead: [Int] = []

  private let normalizer = URLNormalizer()
  private var images: Set<UInt64> = []
  private var seen: Set<BaseURL> = []
  private var seenBytes = 0
  private var pages = 1
  private var stylesheets = 0
  /// Why pages or stylesheets were skipped, each reason once.
  private(set) var warnings: [String] = []

  init(_ rules: Manifest.Crawl) { self.rules = rules }

  /// Whether no page or stylesheet before has named that image.
  func isNew(image url: UnsafeRawBufferPointer) -> Bool { images.insert(XXH3_64bits(url.baseAddress, url.count)).inserted }

  /// Returns the file of a page or stylesheet that `parent` names; nil if it was named before, or if the rules exclude it.
  func child(_ url: UnsafeRawBufferPointer, _ kind: ManifestFile.Kind, of parent: ManifestFile) -> ManifestFile? {
    guard let parts = URLNormalizer.parts(ofNormalForm: url), let first = parent.site else { return nil }
    let child = BaseURL(normalized: url, parts: parts)
    if seen.isEmpty { seen.insert(first) }
    guard !seen.contains(child) else { return nil }
    if kind == .page {
      guard !rules.sameSite || child.hasSameOrigin(as: first), isIncluded(url, parts) else { return nil }
    }
    guard hasRoom(for: child, kind, of: parent) else { return nil }
    seen.insert(child)
    seenBytes += child.bytes.count
    var file = ManifestFile(
      manifest: parent.manifest,
      name: String(decoding: maskingCredentials(url), as: UTF8.self),
      location: .url(child),
      base: child,
      depth: kind == .page ? parent.depth + 1 : parent.depth,
      trusted: parent.trusted
    )
    file.kind = kind
    file.site = first
    file.imports = kind == .stylesheet ? parent.imports + 1 : 0
    return file
  }

  private func isIncluded(_ url: UnsafeRawBufferPointer, _ parts: URLParts) -> Bool {
    let fits = { (pattern: URLPattern) in pattern.matches(url, parts: parts) }
    return (rules.include.isEmpty || rules.include.contains(where: fits)) && !rules.exclude.contains(where: fits)
  }

  private func hasRoom(for child: BaseURL, _ kind: ManifestFile.Kind, of parent: ManifestFile) -> Bool {
    let reason: String? =
      if seenBytes + child.bytes.count > Self.maximumURLBytes {
        "the URLs of pages exceed \(Self.maximumURLBytes >> 20) MiB in total; later ones were skipped"
      } else if kind == .page, pages >= rules.pages {
        "it leads to more than \(rules.pages) pages (crawl.pages); the others were skipped"
      } else if kind == .stylesheet, stylesheets >= Self.maximumStylesheets {
        "its pages name more than \(Self.maximumStylesheets) stylesheets; the others were skipped"
      } else if kind == .stylesheet, parent.imports >= Self.maximumImports {
        "stylesheets import each other more than \(Self.maximumImports) levels deep; the deeper ones were skipped"
      } else {
        nil
      }
    if let reason {
      if !warnings.contains(reason) { warnings.append(reason) }
      return false
    }
    if kind == .page { pages += 1 } else { stylesheets += 1 }
    return true
  }
}

extension BaseURL {
  /// Whether both have the same scheme, host and port.
  func hasSameOrigin(as other: BaseURL) -> Bool {
    parts.isSecure == other.parts.isSecure && bytes[parts.hostAndPort] == other.bytes[other.parts.hostAndPort]
  }
}
