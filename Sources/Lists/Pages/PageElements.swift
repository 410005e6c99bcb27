import CGumbo
import Base

/// Finds the images, links and stylesheets of elements.
final class PageElements {
  private let collector: PageCollector
  /// The number of lines before the text, unless all elements have the line after these.
  private let precedingLines: UInt64
  private let hasFixedLine: Bool
  /// The line of the element that is being read.
  private var line: UInt64 = 0
  /// The documents of `srcdoc` attributes.
  private(set) var frames: [(text: [UInt8], line: UInt64)] = []

  init(_ collector: PageCollector, firstLine: UInt64, hasFixedLine: Bool) {
    self.collector = collector
    precedingLines = firstLine - 1
    self.hasFixedLine = hasFixedLine
  }

  func read(_ element: HTMLElement) {
    line = place(element.line)
    if let style = element.attribute("style") { StylesheetScan.scan(style, as: .declarations, line: line, into: collector) }
    if element.isSVG { return readSVG(element) }
    switch element.tag {
    case GUMBO_TAG_IMG: return readImage(element)
    case GUMBO_TAG_SOURCE: if isOfPicture(element) { return readSource(element) }
    case GUMBO_TAG_VIDEO: addImage(of: element, "poster")
    case GUMBO_TAG_INPUT where element.has("type", "image"):
      addImage(of: element, "src", element.size)
      return readLazyImages(of: element, ImageClaims())
    case GUMBO_TAG_BODY, GUMBO_TAG_TABLE, GUMBO_TAG_THEAD, GUMBO_TAG_TBODY, GUMBO_TAG_TFOOT, GUMBO_TAG_TR, GUMBO_TAG_TD,
      GUMBO_TAG_TH:
      addImage(of: element, "background")
    case GUMBO_TAG_OBJECT: readPlugin(element, "data")
    case GUMBO_TAG_EMBED: readPlugin(element, "src")
    case GUMBO_TAG_A, GUMBO_TAG_AREA: readAnchor(element, element.attribute("href"))
    case GUMBO_TAG_IFRAME, GUMBO_TAG_FRAME:
      if element.tag == GUMBO_TAG_IFRAME, let document = element.attribute("srcdoc") {
        return frames.append((Array(document), line))
      }
      if let written = element.attribute("src") { collector.addLink(written, line: line) }
    case GUMBO_TAG_LINK: readLink(element)
    case GUMBO_TAG_META: readMeta(element)
    case GUMBO_TAG_STYLE: readStyle(element)
    case GUMBO_TAG_SCRIPT: readScript(element)
    case GUMBO_TAG_UNKNOWN:
      let name = element.name
      if name == "amp-img" || name == "amp-anim" { return readImage(element) }
      // The images of other AMP elements, such as `amp-video` and `amp-story`.
      if name.hasPrefix("amp-") { for attribute in Self.ampImages { addImage(of: element, attribute) } }
    default: break
    }
    readLazyImages(of: element, isImage: false, ImageClaims())
  }

  /// The line of an element or its text.
  private func place(_ line: UInt64) -> UInt64 { precedingLines + (hasFixedLine ? 1 : line) }

  /// A `source` has images only in a `picture`; elsewhere it has sounds and videos.
  private func isOfPicture(_ source: HTMLElement) -> Bool { source.parent?.name == "picture" }

  private func addImage(of element: HTMLElement, _ attribute: String, _ claims: ImageClaims = ImageClaims()) {
    if let written = element.attribute(attribute) { addImage(written, of: element, attribute, claims) }
  }

  private func addImage(
    _ written: UnsafeRawBufferPointer,
    of element: HTMLElement,
    _ attribute: String,
    _ claims: ImageClaims = ImageClaims()
  ) {
    collector.addImage(written, PageOrigin(element: element.name, attribute: attribute), line: line, claims: claims)
  }

  private func addImages(ofSet attribute: String, of element: HTMLElement, _ claims: ImageClaims) {
    guard let set = element.attribute(attribute) else { return }
    collector.addImages(ofSourceSet: set, PageOrigin(element: element.name, attribute: attribute), line: line, claims: claims)
  }
}

/// Images.
extension PageElements {
  private static let ampImages = [
    "poster", "artwork", "publisher-logo-src", "poster-portrait-src", "poster-square-src", "poster-landscape-src",
  ]

  private func readImage(_ element: HTMLElement) {
    let claims = element.sourceClaims
    // The `src` of an image that loads later is often a placeholder of another size.
    let isLazy = (collector.rules.lazyAttributes + collector.rules.lazySourceSets).contains { element.attribute($0) != nil }
    addImage(of: element, "src", isLazy ? ImageClaims() : claims)
    addImages(ofSet: "srcset", of: element, claims)
    readLazyImages(of: element, claims)
  }

  private func readSource(_ element: HTMLElement) {
    var claims = element.sourceClaims
    claims.format = element.claimedFormat
    addImages(ofSet: "srcset", of: element, claims)
    readLazyImages(of: element, claims)
  }

  /// The images that scripts load by attributes of an image, or as the background of another element: a URL, or a CSS value.
  private func readLazyImages(of element: HTMLElement, isImage: Bool = true, _ claims: ImageClaims) {
    var claims = claims
    // The script that reads these attributes sets `sizes`.
    claims.hasSizes = isImage
    for attribute in collector.rules.lazyAttributes {
      guard let value = element.attribute(attribute) else { continue }
      let isBackground = attribute.contains("bg") || attribute.contains("background")
      // The `data-src` of a frame or player isn't about images.
      let isOfImages = isBackground || ["image", "img", "poster", "thumb"].contains { attribute.contains($0) }
      if value.hasImageFunction {
        let declaration = Array("\(attribute):".utf8) + value
        declaration.withRawBytes { StylesheetScan.scan($0, as: .declarations, line: line, into: collector) }
      } else if value.hasImageExtension || isImage && !isBackground || isOfImages && value.looksLikePath {
        addImage(value, of: element, attribute, claims)
      }
    }
    for attribute in collector.rules.lazySourceSets {
      guard let value = element.attribute(attribute) else { continue }
      if attribute.hasSuffix("srcset") {
        addImages(ofSet: attribute, of: element, claims)
        continue
      }
      // The script lazysizes reads several sets, each with the condition for it in brackets.
      let origin = PageOrigin(element: element.name, attribute: attribute)
      for set in value.split(separator: UInt8(ascii: "|")) {
        let set = UnsafeRawBufferPointer(rebasing: set.prefix { $0 != UInt8(ascii: "[") })
        collector.addImages(ofSourceSet: set, origin, line: line, claims: claims)
      }
    }
  }

  /// An `object` or `embed` is an image if its type says so, or if it has none and its URL has an image extension.
  private func readPlugin(_ element: HTMLElement, _ attribute: String) {
    guard let written = element.attribute(attribute) else { return }
    var claims = element.size
    if let type = element.attribute("type"), !type.isEmpty {
      guard type.hasPrefix("image/") else { return }
      claims.format = element.claimedFormat
    } else if !written.hasImageExtension {
      return
    }
    addImage(written, of: element, attribute, claims)
  }

  private func readSVG(_ element: HTMLElement) {
    switch element.tag {
    case GUMBO_TAG_STYLE: readStyle(element)
    case GUMBO_TAG_SCRIPT: readScript(element)
    case GUMBO_TAG_A: readAnchor(element, element.reference)
    case GUMBO_TAG_IMAGE: if let written = element.reference { addImage(written, of: element, "href") }
    // A `use` of another file draws a part of that image.
    case GUMBO_TAG_UNKNOWN where ["use", "feimage"].contains(element.name):
      if let written = element.reference { addImage(written, of: element, "href") }
    default: break
    }
  }

  private func readStyle(_ element: HTMLElement) {
    // Another type isn't CSS (HTML Standard, section 4.2.6).
    if let type = element.attribute("type"), !type.isEmpty, !type.equals("text/css") { return }
    guard let (text, line) = element.text else { return }
    StylesheetScan.scan(text, as: .stylesheet, line: place(line), hasFixedLine: hasFixedLine, into: collector)
  }

  private func readScript(_ element: HTMLElement) {
    guard element.has("type", "application/ld+json"), let (text, _) = element.text else { return }
    JSONImages(.schemaOrg, collector, line: line).read(text)
  }
}

/// Links and metadata.
extension PageElements {
  private static let iconRelations = [
    "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image", "mask-icon", "fluid-icon",
    "image_src",
  ]
  /// Open Graph, Twitter cards, tiles of Windows, and thumbnails of search engines.
  private static let imageProperties = [
    "og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src",
    "msapplication-TileImage", "msapplication-square70x70logo", "msapplication-square150x150logo",
    "msapplication-wide310x150logo", "msapplication-square310x310logo", "thumbnail",
  ]

  private func readAnchor(_ element: HTMLElement, _ written: UnsafeRawBufferPointer?) {
    guard let written else { return }
    if written.hasImageExtension, !written.namesFilePage { return addImage(written, of: element, "href") }
    collector.addLink(written, line: line, isNoFollow: element.attribute("rel")?.hasToken("nofollow") ?? false)
  }

  private func readLink(_ element: HTMLElement) {
    let written = element.attribute("href")
    if let property = element.imageItem, let written { addImage(written, of: element, property) }
    guard let relation = element.attribute("rel") else { return }
    if relation.hasToken("preload"), element.has("as", "image") {
      var claims = ImageClaims()
      claims.hasSizes = element.attribute("imagesizes") != nil
      claims.format = element.claimedFormat
      if let written { addImage(written, of: element, "preload", claims) }
      addImages(ofSet: "imagesrcset", of: element, claims)
    }
    guard let written else { return }
    if let icon = Self.iconRelations.first(where: { relation.hasToken($0) }) {
      var claims = ImageClaims()
      claims.format = element.claimedFormat
      addImage(written, of: element, icon, claims)
    }
    if relation.hasToken("next") || relation.hasToken("prev") {
      collector.addLink(written, line: line, isNoFollow: relation.hasToken("nofollow"))
    }
    if relation.hasToken("manifest") { collector.addStylesheet(written, line: line, isWebManifest: true) }
    if relation.hasToken("stylesheet"), !relation.hasToken("alternate"), element.attribute("disabled") == nil,
      element.attribute("type").map({ $0.isEmpty || $0.hasPrefix("text/css") }) ?? true
    {
      collector.addStylesheet(written, line: line)
    }
  }

  private func readMeta(_ element: HTMLElement) {
    guard let content = element.attribute("content") else { return }
    // That of a frame says nothing about the page.
    if element.has("name", "robots"), !hasFixedLine,
      ["nofollow", "none"].contains(where: { content.hasToken($0, separators: " ,\t\n") })
    {
      collector.document.isNoFollow = true
    }
    if element.has("http-equiv", "refresh"), let written = Self.refreshURL(content) { collector.addLink(written, line: line) }
    if let property = element.imageItem { return addImage(content, of: element, property) }
    // Open Graph names a property, Twitter a name; pages mix them up.
    for name in [element.attribute("property"), element.attribute("name")].compactMap(\.self) {
      guard let property = Self.imageProperties.first(where: { name.hasToken($0) }) else { continue }
      return addImage(content, of: element, property)
    }
  }

  /// Returns the URL of a refresh (HTML Standard, section 4.2.5.3, "shared declarative refresh steps").
  static func refreshURL(_ content: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let isDigit: (UInt8) -> Bool = { $0 &- 0x30 < 10 || $0 == UInt8(ascii: ".") }
    let isSeparator: (UInt8?) -> Bool = { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: ",") }
    var rest = content.drop(while: \.isASCIIWhitespace)
    guard let first = rest.first, isDigit(first) else { return nil }
    rest = rest.drop(while: isDigit)
    guard let separator = rest.first, isSeparator(separator) || separator.isASCIIWhitespace else { return nil }
    rest = rest.drop(while: \.isASCIIWhitespace)
    if isSeparator(rest.first) { rest.removeFirst() }
    rest = rest.drop(while: \.isASCIIWhitespace)
    if rest.lazy.map(\.asciiLowercased).starts(with: "url".utf8) {
      let value = rest.dropFirst(3).drop(while: \.isASCIIWhitespace)
      if value.first == UInt8(ascii: "=") { rest = value.dropFirst().drop(while: \.isASCIIWhitespace) }
    }
    if let quote = rest.first, quote == 0x22 || quote == 0x27 { rest = rest.dropFirst().prefix { $0 != quote } }
    return rest.isEmpty ? nil : UnsafeRawBufferPointer(rebasing: rest)
  }
}

extension HTMLElement {
  /// Whether an attribute has that value.
  func has(_ name: String, _ value: String) -> Bool { attribute(name)?.equals(value) ?? false }

  /// The format of its `type`; nil if it has none, or that isn't a format's.
  var claimedFormat: ImageFormat? {
    guard let type = attribute("type") else { return nil }
    return ImageFormat(mediaType: String(decoding: type.prefix(1024), as: UTF8.self))
  }

  fileprivate var size: ImageClaims {
    ImageClaims(width: attribute("width").flatMap(\.leadingInteger), height: attribute("height").flatMap(\.leadingInteger))
  }

  fileprivate var sourceClaims: ImageClaims {
    var claims = size
    claims.hasSizes = attribute("sizes") != nil
    return claims
  }

  /// The property of schema.org whose value is an image; nil if the element has none.
  fileprivate var imageItem: String? {
    guard let written = attribute("itemprop") else { return nil }
    return ["image", "logo", "thumbnailUrl"].first { written.hasToken($0) }
  }
}

/// Values of attributes, which are compared without case as HTML does for its keywords.
extension UnsafeRawBufferPointer {
  func equals(_ word: String) -> Bool { trimmedASCII.count == word.utf8.count && hasPrefix(word) }

  func hasPrefix(_ word: String) -> Bool { trimmedASCII.starts(with: word.utf8) { $0.asciiLowercased == $1.asciiLowercased } }

  /// Whether one of the words between the separators is that.
  func hasToken(_ word: String, separators: String = " \t\n\u{c}\r") -> Bool {
    split { separators.utf8.contains($0) }.contains { UnsafeRawBufferPointer(rebasing: $0).equals(word) }
  }

  /// The number at the start (HTML Standard, section 2.3.4.4, "rules for parsing dimension values"); nil for a percentage.
  var leadingInteger: UInt32? {
    let text = trimmedASCII
    let digits = text.prefix { $0 &- 0x30 < 10 }
    guard !digits.isEmpty, digits.count < 10, !text.contains(UInt8(ascii: "%")) else { return nil }
    return UInt32(String(decoding: digits, as: UTF8.self))
  }

  /// Whether the path of a URL as written ends in the extension of an image format.
  var hasImageExtension: Bool { ImageExtension.ends(UnsafeRawBufferPointer(rebasing: trimmedASCII)) }

  /// Whether it is a CSS value with an image.
  var hasImageFunction: Bool {
    ["url(", "image-set("].contains { word in
      indices.contains { self[$0...].starts(with: word.utf8) { $0.asciiLowercased == $1 } }
    }
  }

  /// Whether it is a URL with a path rather than a name, number, colour or object, whose meaning only a script knows.
  var looksLikePath: Bool {
    let text = trimmedASCII
    return text.contains(UInt8(ascii: "/")) && !text.contains { $0.isASCIIWhitespace || "{}<>\"()".utf8.contains($0) }
  }

  /// Whether the last segment has a colon: MediaWiki's pages about files are named `File:a.jpg`.
  var namesFilePage: Bool {
    let path = prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    return path.suffix(from: path.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex).contains(UInt8(ascii: ":"))
  }

  private var trimmedASCII: Slice<UnsafeRawBufferPointer> {
    var text = self[...]
    while let first = text.first, first.isASCIIWhitespace { text.removeFirst() }
    while let last = text.last, last.isASCIIWhitespace { text.removeLast() }
    return text
  }
}
