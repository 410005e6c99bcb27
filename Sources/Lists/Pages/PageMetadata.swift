import Base

/// Finds the images and pages of `link` and `meta` elements.
struct PageMetadata {
  private static let iconRelations: [StaticString] = [
    "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image", "mask-icon", "fluid-icon",
    "image_src",
  ]
  /// Open Graph, Twitter cards, tiles of Windows, and thumbnails of search engines.
  private static let imageProperties: [StaticString] = [
    "og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src",
    "msapplication-TileImage", "msapplication-square70x70logo", "msapplication-square150x150logo",
    "msapplication-wide310x150logo", "msapplication-square310x310logo", "thumbnail",
  ]

  private let collector: PageCollector

  init(_ collector: PageCollector) { self.collector = collector }

  func readLink(_ element: HTMLElement, _ line: UInt64) {
    if let property = imageItem(element), let written = element.attribute("href") {
      collector.addImage(written, PageOrigin(element: "link", attribute: property), line: line)
    }
    guard let relation = element.attribute("rel") else { return }
    if relation.hasToken("preload") { readPreload(element, line) }
    guard let written = element.attribute("href") else { return }
    if let icon = Self.iconRelations.first(where: { relation.hasToken($0) }) {
      var claims = ImageClaims()
      claims.format = element.claimedFormat
      collector.addImage(written, PageOrigin(element: "link", attribute: "\(icon)"), line: line, claims: claims)
    }
    if relation.hasToken("next") || relation.hasToken("prev") {
      let isNoFollow = relation.hasToken("nofollow")
      collector.addLink(written, PageOrigin(element: "link", attribute: "href"), line: line, isNoFollow: isNoFollow)
    }
    if relation.hasToken("manifest") { collector.addStylesheet(written, line: line, isWebManifest: true) }
    if relation.hasToken("stylesheet"), !relation.hasToken("alternate"), element.attribute("disabled") == nil,
      element.attribute("type").map({ $0.isEmpty || $0.hasPrefix("text/css") }) ?? true
    {
      collector.addStylesheet(written, line: line)
    }
  }

  private func readPreload(_ element: HTMLElement, _ line: UInt64) {
    guard element.attribute("as").map({ $0.equals("image") }) ?? false else { return }
    var claims = ImageClaims()
    claims.hasSizes = element.attribute("imagesizes") != nil
    claims.format = element.claimedFormat
    if let written = element.attribute("href") {
      collector.addImage(written, PageOrigin(element: "link", attribute: "preload"), line: line, claims: claims)
    }
    if let set = element.attribute("imagesrcset") {
      collector.addImages(ofSourceSet: set, PageOrigin(element: "link", attribute: "imagesrcset"), line: line, claims: claims)
    }
  }

  func readMeta(_ element: HTMLElement, _ line: UInt64) {
    guard let content = element.attribute("content") else { return }
    if element.attribute("http-equiv").map({ $0.equals("refresh") }) ?? false, let written = Self.refreshURL(content) {
      collector.addLink(written, PageOrigin(element: "meta", attribute: "refresh"), line: line)
    }
    if let property = imageItem(element) {
      return collector.addImage(content, PageOrigin(element: "meta", attribute: property), line: line)
    }
    // Open Graph names a property, Twitter a name; pages mix them up.
    for name in [element.attribute("property"), element.attribute("name")].compactMap(\.self) {
      guard let property = Self.imageProperties.first(where: { name.hasToken($0) }) else { continue }
      collector.addImage(content, PageOrigin(element: "meta", attribute: "\(property)"), line: line)
      return
    }
  }

  /// The property of schema.org whose value is an image; nil if the element has none.
  private func imageItem(_ element: HTMLElement) -> String? {
    let properties: [StaticString] = ["image", "logo", "thumbnailUrl"]
    guard let written = element.attribute("itemprop") else { return nil }
    return properties.first { written.hasToken($0) }.map { "\($0)" }
  }

  func forbidsFollowing(_ element: HTMLElement) -> Bool {
    guard element.attribute("name").map({ $0.equals("robots") }) ?? false, let content = element.attribute("content") else {
      return false
    }
    return content.hasToken("nofollow", separators: " ,\t\n") || content.hasToken("none", separators: " ,\t\n")
  }

  /// Returns the URL of a refresh (HTML Standard, section 4.2.5.3, "shared declarative refresh steps").
  static func refreshURL(_ content: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    var rest = content.drop(while: \.isASCIIWhitespace)
    guard let first = rest.first, first == UInt8(ascii: ".") || first &- 0x30 < 10 else { return nil }
    rest = rest.drop { $0 &- 0x30 < 10 || $0 == UInt8(ascii: ".") }
    guard let separator = rest.first,
      separator == UInt8(ascii: ";") || separator == UInt8(ascii: ",") || separator.isASCIIWhitespace
    else { return nil }
    rest = rest.drop(while: \.isASCIIWhitespace)
    if rest.first == UInt8(ascii: ";") || rest.first == UInt8(ascii: ",") { rest.removeFirst() }
    rest = rest.drop(while: \.isASCIIWhitespace)
    if rest.lazy.map(\.asciiLowercased).starts(with: "url".utf8) {
      let value = rest.dropFirst(3).drop(while: \.isASCIIWhitespace)
      if value.first == UInt8(ascii: "=") { rest = value.dropFirst().drop(while: \.isASCIIWhitespace) }
    }
    if let quote = rest.first, quote == 0x22 || quote == 0x27 { rest = rest.dropFirst().prefix { $0 != quote } }
    return rest.isEmpty ? nil : UnsafeRawBufferPointer(rebasing: rest)
  }
}
