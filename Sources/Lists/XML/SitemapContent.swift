import Base

/// The locations of a sitemap, or the sitemaps that an index names.
final class SitemapContent: XMLListContent {
  private static let maximumFieldBytes = 64

  let isIndex: Bool
  private let locations: XMLLocations
  private let rules: XMLListRules
  private let namespaces: XMLNamespaces
  private var entry: SitemapElement?
  private var entryDepth = 0
  private var lastModified: [UInt8] = []
  private var lastModifiedLine: UInt64 = 0
  private var priority: [UInt8] = []
  private var dates: LastModifiedCheck
  /// Whether the entry's location is a page that isn't read.
  private var isPage = false

  /// Returns nil if `root` isn't the first element of a sitemap or an index.
  init?(_ root: XMLElement, _ locations: XMLLocations, _ rules: XMLListRules, _ namespaces: XMLNamespaces) {
    isIndex = root.isNamed("sitemapindex")
    guard isIndex || root.isNamed("urlset") else { return nil }
    self.locations = locations
    self.rules = rules
    self.namespaces = namespaces
    dates = LastModifiedCheck(now: rules.now)
  }

  // MARK: Parser events

  func start(_ element: XMLElement, depth: Int) -> XMLField? {
    let element = SitemapElement(element, in: namespaces)
    guard let entry else {
      // Some plugins write a urlset into another one, or other elements around entries.
      guard element == .url || element == .sitemap else { return nil }
      entry = element
      entryDepth = depth
      locations.beginEntry()
      return nil
    }
    switch element {
    case .location where depth == entryDepth + 1: return .location(entry == .sitemap ? .sitemap : .page, isRequired: true)
    case .lastModified where depth == entryDepth + 1: return .lastModified
    case .priority where depth == entryDepth + 1: return .priority
    case .imageLocation where entry == .url: return .location(.image, isRequired: true)
    default: return nil
    }
  }

  func end(_ field: XMLField, line: UInt64) {
    switch field {
    case .location(let kind, _): endLocation(kind, line: line)
    case .priority: priority = locations.takeText(maximum: Self.maximumFieldBytes)
    default: (lastModified, lastModifiedLine) = (locations.takeText(maximum: Self.maximumFieldBytes), line)
    }
  }

  func end(depth: Int) { if depth == entryDepth, entry != nil { endEntry() } }

  private func endLocation(_ kind: XMLLocations.Kind, line: UInt64) {
    let readsPages = rules.list.readsPages
    locations.endText(line: line) { text in
      guard kind == .page else { return kind }
      if ImageExtension.ends(text) { return .image }
      if readsPages, !text.isEmpty { return .page }
      if !readsPages, !rules.list.include.isEmpty { return .image }
      isPage = true
      return nil
    }
  }

  private func endEntry() {
    if rules.list.sitemapPages == .readWithoutImages { locations.dropPageBesideImages() }
    if isPage, locations.isEntryEmpty { locations.remarks.pages += 1 }
    isPage = false
    let moments = readLastModified()
    if let newerThan = rules.list.newerThan, let moments, moments.upperBound <= newerThan {
      locations.remarks.tooOld += 1
      locations.remarks.hasOldImages = locations.remarks.hasOldImages || !locations.isEntryEmpty
      locations.dropEntry()
    } else {
      let modified = rules.list.usesLastModified ? moments.flatMap { dates.isPlausible($0) ? $0.upperBound : nil } : nil
      locations.endEntry(
        priority: rules.list.usesSitemapPriority ? Self.priority(priority) : nil,
        note: modified.map { EntryNote(modified: $0) }
      )
    }
    entry = nil
    lastModified.removeAll(keepingCapacity: true)
    priority.removeAll(keepingCapacity: true)
  }

  /// Returns the moments that the entry's date may mean; nil if it has none, or if nothing depends on it.
  private func readLastModified() -> ClosedRange<Timestamp>? {
    guard rules.list.newerThan != nil || rules.list.usesLastModified, !lastModified.isEmpty else { return nil }
    guard let moments = lastModified.withUnsafeBytes(LastModified.moments) else {
      locations.remarks.unreadableDates.add(line: lastModifiedLine, String(decoding: lastModified, as: UTF8.self))
      return nil
    }
    dates.add(moments, to: &locations.remarks)
    return moments
  }

  /// The name of the priority that a number from 0.0 to 1.0 means; nil for other texts, so that the list's priority applies.
  private static func priority(_ text: [UInt8]) -> StaticString? {
    guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
    return switch value {
    case 0.9...: "very-high"
    case 0.7...: "high"
    case 0.4...: "normal"
    case 0.2...: "low"
    default: "very-low"
    }
  }
}

/// The elements of sitemaps.org and of Google's extensions for images and videos that are used here.
private enum SitemapElement {
  /// The entries below the root.
  case url, sitemap
  /// The fields of an entry.
  case location, lastModified, priority
  /// `image:loc` or `video:thumbnail_loc`.
  case imageLocation
  case other

  private static let all: [(name: StaticString, namespace: XMLNamespaces.Meaning, element: SitemapElement)] = [
    ("url", .root, .url), ("loc", .root, .location), ("lastmod", .root, .lastModified), ("priority", .root, .priority),
    ("sitemap", .root, .sitemap), ("loc", .image, .imageLocation), ("thumbnail_loc", .video, .imageLocation),
  ]

  init(_ element: XMLElement, in namespaces: XMLNamespaces) {
    let meaning = namespaces.meaning(of: element.prefix)
    let namespace: XMLNamespaces.Meaning =
      meaning.contains(.image) ? .image : meaning.contains(.video) ? .video : meaning.intersection(.root)
    self = Self.all.first { $0.namespace == namespace && element.isNamed($0.name) }?.element ?? .other
  }
}

/// Distinguishes images from pages by their URLs alone.
package enum ImageExtension {
  private static let all: [StaticString] = [
    "jpg", "jpeg", "png", "webp", "gif", "avif", "svg", "jpe", "jfif", "apng", "heic", "heif", "jxl", "bmp", "ico", "tif", "tiff",
  ]

  /// Whether the path of a URL or reference ends in an image extension, in any letter case.
  package static func ends(_ url: UnsafeRawBufferPointer) -> Bool {
    let end = url.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? url.count
    guard let dot = url[..<end].lastIndex(of: UInt8(ascii: ".")), (3...4).contains(end - dot - 1) else { return false }
    return all.contains { name in
      name.utf8CodeUnitCount == end - dot - 1
        && (0..<(end - dot - 1)).allSatisfy { name.utf8Start[$0] == url[dot + 1 + $0] | 0x20 }
    }
  }
}
