import ImagePrimitives

/// The elements of sitemaps.org and of Google's image extension that mean something here.
enum SitemapElement {
  /// The roots.
  case urlSet, index
  /// The entries below them.
  case url, sitemap
  /// The fields of an entry.
  case location, lastModified, priority
  /// `image:loc`.
  case imageLocation
  case other
}

/// What a sitemap is judged by.
struct SitemapRules {
  /// Entries that are not later are left out.
  var newerThan: Timestamp?
  /// Whether a location is taken that does not end like an image.
  var takesEveryLocation: Bool
  var usesPriority: Bool

  init(_ manifest: Manifest) {
    newerThan = manifest.newerThan
    takesEveryLocation = !manifest.include.isEmpty
    usesPriority = manifest.usesSitemapPriority
  }
}
