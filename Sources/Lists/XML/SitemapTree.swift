import Base

/// The sitemaps that a list's indexes have named. Each is read once; depth, number and bytes are limited.
struct SitemapTree {
  /// The maximum number of indexes that lead to a sitemap; sitemaps.org allows one.
  static let maximumDepth = 3
  /// The maximum number of sitemaps of a list; sitemaps.org allows one index this many.
  static let maximumCount = 50_000

  /// The maximum length of a sitemap's URL; the limit of sitemaps.org is lower.
  static let maximumURLBytes = 2048
  /// The maximum memory of all URLs, since each is kept for the report.
  static let maximumBytes = 16 << 20

  private static let shownBytes = 256

  private var seen: Set<BaseURL> = []
  private var seenBytes = 0

  /// Returns a file for a sitemap that `parent` names; nil if it was named before.
  ///
  /// Throws a sentence if it must not be followed.
  mutating func child(_ written: UnsafeRawBufferPointer, of parent: ListFile, by normalizer: URLNormalizer)
    throws(InputError) -> ListFile?
  {
    if seen.isEmpty, let url = parent.url { seen.insert(url) }
    guard written.count <= Self.maximumURLBytes else {
      throw InputError(
        "the index names a sitemap with a URL longer than \(Self.maximumURLBytes) bytes, '\(Self.shown(written))…'; skipped"
      )
    }
    var bytes: [UInt8] = []
    let parts: URLParts
    do throws(InvalidURL) {
      parts = try normalizer.normalize(written, relativeTo: parent.base, into: &bytes)
    } catch {
      throw InputError("the index names a sitemap with an invalid URL, '\(Self.shown(written))': \(error.message)")
    }
    let url = bytes.withUnsafeBytes { BaseURL(normalized: $0, parts: parts) }
    guard !seen.contains(url) else { return nil }
    let child = parent.child(.sitemap, at: url, depth: parent.depth + 1, trusted: url)
    guard parent.depth < Self.maximumDepth else {
      throw InputError("indexes are nested more than \(Self.maximumDepth) levels deep; sitemap \(child.name) skipped")
    }
    guard seen.count < Self.maximumCount else {
      throw InputError("the indexes name more than \(Self.maximumCount) sitemaps; \(child.name) and all later ones skipped")
    }
    guard seenBytes + bytes.count <= Self.maximumBytes else {
      let limit = "\(Self.maximumBytes >> 20) MiB in total"
      throw InputError("the URLs of sitemaps exceed \(limit); \(child.name) and all later ones skipped")
    }
    seenBytes += bytes.count
    seen.insert(url)
    return child
  }

  /// The beginning of a URL, for messages.
  static func shown(_ written: UnsafeRawBufferPointer) -> String {
    String(decoding: maskingCredentials(written).prefix(shownBytes), as: UTF8.self)
  }
}
