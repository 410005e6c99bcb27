import ImagePrimitives
import ImageURLs

/// The sitemaps that a manifest's indexes have named: each is read once, and they are bounded in depth and number.
struct SitemapTree {
  /// How many indexes may lead to a sitemap; sitemaps.org knows one.
  static let maximumDepth = 3
  /// How many sitemaps a manifest may name in all; sitemaps.org allows one index as many.
  static let maximumCount = 50_000

  private static let shownBytes = 256

  private var seen: Set<[UInt8]> = []

  /// A file for a sitemap that `parent` names; nil where it has been named before.
  ///
  /// Throws a sentence where it may not be followed.
  mutating func child(_ written: UnsafeRawBufferPointer, of parent: ManifestFile, by normalizer: URLNormalizer)
    throws(InputFailure) -> ManifestFile?
  {
    if seen.isEmpty, case .url(let url)? = parent.place { seen.insert(url.bytes) }
    var bytes: [UInt8] = []
    let parts: URLParts
    do throws(InvalidURL) {
      parts = try normalizer.normalize(written, relativeTo: parent.base, into: &bytes)
    } catch {
      let shown = String(decoding: maskingCredentials(written).prefix(Self.shownBytes), as: UTF8.self)
      throw InputFailure("the index names a sitemap by what is no URL, “\(shown)”: \(error.message)")
    }
    guard !seen.contains(bytes) else { return nil }
    let name = bytes.withUnsafeBytes { String(decoding: maskingCredentials($0), as: UTF8.self) }
    guard parent.depth < Self.maximumDepth else {
      throw InputFailure("indexes are nested more than \(Self.maximumDepth) deep; the sitemap \(name) is not read")
    }
    guard seen.count < Self.maximumCount else {
      throw InputFailure("more than \(Self.maximumCount) sitemaps are named; \(name) and what follows are not read")
    }
    seen.insert(bytes)
    let url = bytes.withUnsafeBytes { BaseURL(normalized: $0, parts: parts) }
    return ManifestFile(
      manifest: parent.manifest,
      name: name,
      place: .url(url),
      base: url,
      depth: parent.depth + 1,
      trusted: parent.trusted ?? url
    )
  }
}
