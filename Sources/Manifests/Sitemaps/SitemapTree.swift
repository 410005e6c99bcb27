import ImagePrimitives
import ImageURLs

/// The sitemaps that a manifest's indexes have named: each is read once, and they are bounded in depth, number and bytes.
struct SitemapTree {
  /// How many indexes may lead to a sitemap; sitemaps.org knows one.
  static let maximumDepth = 3
  /// How many sitemaps a manifest may name in all; sitemaps.org allows one index as many.
  static let maximumCount = 50_000

  /// How long the URL of a sitemap may be; sitemaps.org allows less than that.
  static let maximumURLBytes = 2048
  /// How much memory their URLs may take in all, since each is kept for the report.
  static let maximumBytes = 16 << 20

  private static let shownBytes = 256

  private var seen: Set<BaseURL> = []
  private var seenBytes = 0

  /// A file for a sitemap that `parent` names; nil where it has been named before.
  ///
  /// Throws a sentence where it may not be followed.
  mutating func child(_ written: UnsafeRawBufferPointer, of parent: ManifestFile, by normalizer: URLNormalizer)
    throws(InputFailure) -> ManifestFile?
  {
    if seen.isEmpty, case .url(let url)? = parent.place { seen.insert(url) }
    guard written.count <= Self.maximumURLBytes else {
      throw InputFailure(
        "the index names a sitemap by more than \(Self.maximumURLBytes) bytes, “\(Self.shown(written))…”; it is not read"
      )
    }
    var bytes: [UInt8] = []
    let parts: URLParts
    do throws(InvalidURL) {
      parts = try normalizer.normalize(written, relativeTo: parent.base, into: &bytes)
    } catch {
      throw InputFailure("the index names a sitemap by what is no URL, “\(Self.shown(written))”: \(error.message)")
    }
    let url = bytes.withUnsafeBytes { BaseURL(normalized: $0, parts: parts) }
    guard !seen.contains(url) else { return nil }
    let name = bytes.withUnsafeBytes { String(decoding: maskingCredentials($0), as: UTF8.self) }
    guard parent.depth < Self.maximumDepth else {
      throw InputFailure("indexes are nested more than \(Self.maximumDepth) deep; the sitemap \(name) is not read")
    }
    guard seen.count < Self.maximumCount else {
      throw InputFailure("more than \(Self.maximumCount) sitemaps are named; \(name) and what follows are not read")
    }
    guard seenBytes + bytes.count <= Self.maximumBytes else {
      throw InputFailure(
        "the URLs of sitemaps come to more than \(Self.maximumBytes >> 20) MiB; \(name) and what follows are not read"
      )
    }
    seenBytes += bytes.count
    seen.insert(url)
    return ManifestFile(
      manifest: parent.manifest,
      name: name,
      place: .url(url),
      base: url,
      depth: parent.depth + 1,
      trusted: parent.trusted ?? url
    )
  }

  private static func shown(_ written: UnsafeRawBufferPointer) -> String {
    String(decoding: maskingCredentials(written).prefix(shownBytes), as: UTF8.self)
  }
}
