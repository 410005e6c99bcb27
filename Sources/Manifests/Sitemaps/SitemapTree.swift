import ImagePrimitives
import ImageURLs

/// The sitemaps that a manifest's indexes have named: each is read once, and they are bounded in depth and number.
struct SitemapTree {
  /// How many indexes may lead to a sitemap; sitemaps.org knows one.
  static let maximumDepth = 3
  /// How many sitemaps a manifest may name in all; sitemaps.org allows one index as many.
  static let maximumCount = 50_000

  private var seen: Set<[UInt8]> = []

  /// A file for a sitemap that `parent` names; nil where it has been named before.
  ///
  /// Throws a sentence where it may not be followed.
  mutating func child(_ written: UnsafeRawBufferPointer, of parent: ManifestFile, by normalizer: URLNormalizer)
    throws(InputFailure) -> ManifestFile?
  {
    let shown = String(decoding: maskingCredentials(written).prefix(1024), as: UTF8.self)
    if seen.isEmpty, case .url(let url)? = parent.place { seen.insert(url.bytes) }
    var bytes: [UInt8] = []
    let parts: URLParts
    do throws(InvalidURL) {
      parts = try normalizer.normalize(written, relativeTo: parent.base, into: &bytes)
    } catch {
      throw InputFailure("the index names a sitemap by what is no URL, “\(shown)”: \(error.message)")
    }
    guard seen.insert(bytes).inserted else { return nil }
    guard parent.depth < Self.maximumDepth else {
      throw InputFailure("indexes are nested more than \(Self.maximumDepth) deep; the sitemap \(shown) is not read")
    }
    guard seen.count <= Self.maximumCount else {
      throw InputFailure("more than \(Self.maximumCount) sitemaps are named; \(shown) and what follows are not read")
    }
    let url = bytes.withUnsafeBytes { BaseURL(normalized: $0, parts: parts) }
    return ManifestFile(manifest: parent.manifest, name: shown, place: .url(url), base: url, depth: parent.depth + 1)
  }
}
