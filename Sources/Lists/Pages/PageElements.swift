import CGumbo
import Base

/// Finds the images, links and stylesheets of elements.
final class PageElements {
  enum Lines {
    /// Elements have their own lines, after as many of the page.
    case after(UInt64)
    case fixed(UInt64)
  }

  private let collector: PageCollector
  private let lines: Lines
  /// The documents of `srcdoc` attributes.
  private(set) var frames: [(text: [UInt8], line: UInt64)] = []
  private(set) var isNoFollow = false

  init(_ collector: PageCollector, line: Lines) {
    self.collector = collector
    lines = line
  }

  func read(_ element: HTMLElement) {
    let line = line(element.line)
    if let style = element.attribute("style") {
      StylesheetScan.scan(style, as: .declarations, line: line, into: collector)
    }
    if element.isSVG { return readSVG(element, line) }
    switch element.tag {
    case GUMBO_TAG_IMG: return readImage(element, "img", line)
    case GUMBO_TAG_SOURCE: readSource(element, line)
    case GUMBO_TAG_VIDEO: add(element, "poster", of: "video", line)
    case GUMBO_TAG_INPUT:
      guard element.attribute("type").map({ $0.equals("image") }) ?? false else { break }
      add(element, "src", of: "input", line, claims: size(of: element))
      return readLazy(element, "input", line, ImageClaims())
    case GUMBO_TAG_BODY, GUMBO_TAG_TABLE, GUMBO_TAG_THEAD, GUMBO_TAG_TBODY, GUMBO_TAG_TFOOT, GUMBO_TAG_TR, GUMBO_TAG_TD,
      GUMBO_TAG_TH:
      add(element, "background", of: String(cString: gumbo_normalized_tagname(element.tag)), line)
    case GUMBO_TAG_OBJECT: readPlugin(element, "data", of: "object", line)
    case GUMBO_TAG_EMBED: readPlugin(element, "src", of: "embed", line)
    case GUMBO_TAG_A: readAnchor(element, "a", line)
    case GUMBO_TAG_AREA: readAnchor(element, "area", line)
    case GUMBO_TAG_IFRAME:
      if let document = element.attribute("srcdoc") { return frames.append((Array(document), line)) }
      readFrame(element, "iframe", line)
    case GUMBO_TAG_FRAME: readFrame(element, "frame", line)
    case GUMBO_TAG_LINK: PageMetadata(collector).readLink(element, line)
    case GUMBO_TAG_META: readMeta(element, line)
    case GUMBO_TAG_STYLE: readStyle(element)
    case GUMBO_TAG_SCRIPT: readScript(element, line)
    case GUMBO_TAG_UNKNOWN:
      if element.isNamed("amp-img") || element.isNamed("amp-anim") { return readImage(element, element.name, line) }
      readAMP(element, line)
    default: break
    }
    // The `source` of a picture was read like an image.
    if element.tag == GUMBO_TAG_SOURCE, element.parent?.isNamed("picture") ?? false { return }
    readLazy(element, isImage: false, line, ImageClaims()) { element.name }
  }

  private func line(_ line: UInt64) -> UInt64 {
    switch lines {
    case .after(let count): count + line
    case .fixed(let line): line
    }
  }

  // MARK: Images

  private func readImage(_ element: HTMLElement, _ name: String, _ line: UInt64) {
    var claims = size(of: element)
    claims.hasSizes = element.attribute("sizes") != nil
    // The `src` of an image that loads later is often a placeholder of another size.
    add(element, "src", of: name, line, claims: isLazy(element) ? ImageClaims() : claims)
    if let set = element.attribute("srcset") {
      collector.addImages(ofSourceSet: set, PageOrigin(element: name, attribute: "srcset"), line: line, claims: claims)
    }
    readLazy(element, name, line, claims)
  }

  /// The images of other AMP elements, such as `amp-video` and `amp-story`.
  private func readAMP(_ element: HTMLElement, _ line: UInt64) {
    let name = element.name
    guard name.hasPrefix("amp-") else { return }
    for attribute in Self.ampImages { add(element, attribute, of: name, line) }
  }

  private static let ampImages: [StaticString] = [
    "poster", "artwork", "publisher-logo-src", "poster-portrait-src", "poster-square-src", "poster-landscape-src",
  ]

  /// A `source` has images only in a `picture`; elsewhere it has sounds and videos.
  private func readSource(_ element: HTMLElement, _ line: UInt64) {
    guard let parent = element.parent, parent.isNamed("picture") else { return }
    var claims = size(of: element)
    claims.hasSizes = element.attribute("sizes") != nil
    claims.format = element.claimedFormat
    if let set = element.attribute("srcset") {
      collector.addImages(ofSourceSet: set, PageOrigin(element: "source", attribute: "srcset"), line: line, claims: claims)
    }
    readLazy(element, "source", line, claims)
  }

  private func isLazy(_ element: HTMLElement) -> Bool {
    let has = { (name: String) in element.attribute(named: name) != nil }
    return collector.rules.lazyAttributes.contains(where: has) || collector.rules.lazySourceSets.contains(where: has)
  }

  private func readLazy(_ element: HTMLElement, _ name: String, _ line: UInt64, _ claims: ImageClaims) {
    var claims = claims
    // The script that reads these attributes sets `sizes`.
    claims.hasSizes = true
    readLazy(element, isImage: true, line, claims) { name }
  }

  /// The images that scripts load by attributes of an image, or as the background of another element: a URL, or a CSS value.
  private func readLazy(_ element: HTMLElement, isImage: Bool, _ line: UInt64, _ claims: ImageClaims, name: () -> String) {
    for attribute in collector.rules.lazyAttributes {
      guard let value = element.attribute(named: attribute) else { continue }
      let isBackground = attribute.contains("bg") || attribute.contains("background")
      if value.hasImageFunction {
        let declaration = Array("\(attribute):".utf8) + value
        declaration.withRawBytes { StylesheetScan.scan($0, as: .declarations, line: line, into: collector) }
      } else if value.hasImageExtension || isImage && !isBackground
        || (isBackground || Self.isOfImages(attribute)) && value.looksLikePath
      {
        collector.addImage(value, PageOrigin(element: name(), attribute: attribute), line: line, claims: claims)
      }
    }
    for attribute in collector.rules.lazySourceSets {
      guard let value = element.attribute(named: attribute) else { continue }
      let origin = PageOrigin(element: name(), attribute: attribute)
      if attribute.hasSuffix("srcset") {
        collector.addImages(ofSourceSet: value, origin, line: line, claims: claims)
        continue
      }
      // The script lazysizes reads several sets, each with the condition for it in brackets.
      for set in value.split(separator: UInt8(ascii: "|")) {
        let set = UnsafeRawBufferPointer(rebasing: set.prefix { $0 != UInt8(ascii: "[") })
        collector.addImages(ofSourceSet: set, origin, line: line, claims: claims)
      }
    }
  }

  /// Whether an attribute is about images; the `data-src` of a frame or player isn't.
  private static func isOfImages(_ attribute: String) -> Bool {
    ["image", "img", "poster", "thumb"].contains { attribute.contains($0) }
  }

  /// An `object` or `embed` is an image if its type says so, or if it has none and its URL has an image extension.
  private func readPlugin(_ element: HTMLElement, _ attribute: StaticString, of name: String, _ line: UInt64) {
    guard let written = element.attribute(attribute) else { return }
    var claims = size(of: element)
    if let type = element.attribute("type"), !type.isEmpty {
      guard type.hasPrefix("image/") else { return }
      claims.format = element.claimedFormat
    } else {
      guard written.hasImageExtension else { return }
    }
    collector.addImage(written, PageOrigin(element: name, attribute: "\(attribute)"), line: line, claims: claims)
  }

  private func readSVG(_ element: HTMLElement, _ line: UInt64) {
    switch element.tag {
    case GUMBO_TAG_IMAGE: addReference(element, "image", line)
    case GUMBO_TAG_STYLE: readStyle(element)
    case GUMBO_TAG_SCRIPT: readScript(element, line)
    case GUMBO_TAG_A: readAnchor(element, "a", line)
    case GUMBO_TAG_UNKNOWN:
      // A `use` of another file draws a part of that image.
      if element.isNamed("use") { addReference(element, "use", line) }
      if element.isNamed("feimage") { addReference(element, "feimage", line) }
    default: break
    }
  }

  private func addReference(_ element: HTMLElement, _ name: String, _ line: UInt64) {
    guard let written = element.reference else { return }
    collector.addImage(written, PageOrigin(element: name, attribute: "href"), line: line)
  }

  private func add(
    _ element: HTMLElement,
    _ attribute: StaticString,
    of name: String,
    _ line: UInt64,
    claims: ImageClaims = ImageClaims()
  ) {
    guard let written = element.attribute(attribute) else { return }
    collector.addImage(written, PageOrigin(element: name, attribute: "\(attribute)"), line: line, claims: claims)
  }

  private func size(of element: HTMLElement) -> ImageClaims {
    ImageClaims(
      width: element.attribute("width").flatMap(\.leadingInteger),
      height: element.attribute("height").flatMap(\.leadingInteger)
    )
  }

  // MARK: Texts

  private func readStyle(_ element: HTMLElement) {
    // Another type isn't CSS (HTML Standard, section 4.2.6).
    if let type = element.attribute("type"), !type.isEmpty, !type.equals("text/css") { return }
    guard let (text, line) = element.text else { return }
    StylesheetScan.scan(text, as: .stylesheet, line: self.line(line), hasFixedLine: hasFixedLines, into: collector)
  }

  private var hasFixedLines: Bool { if case .fixed = lines { true } else { false } }

  private func readScript(_ element: HTMLElement, _ line: UInt64) {
    guard let type = element.attribute("type"), type.equals("application/ld+json"), let (text, _) = element.text else { return }
    JSONImages(.schemaOrg, collector, line: line).read(text)
  }

  // MARK: Links

  private func readAnchor(_ element: HTMLElement, _ name: String, _ line: UInt64) {
    guard let written = element.isSVG ? element.reference : element.attribute("href") else { return }
    if written.hasImageExtension, !written.namesFilePage {
      return collector.addImage(written, PageOrigin(element: name, attribute: "href"), line: line)
    }
    let isNoFollow = element.attribute("rel")?.hasToken("nofollow") ?? false
    collector.addLink(written, PageOrigin(element: name, attribute: "href"), line: line, isNoFollow: isNoFollow)
  }

  private func readFrame(_ element: HTMLElement, _ name: String, _ line: UInt64) {
    guard let written = element.attribute("src") else { return }
    collector.addLink(written, PageOrigin(element: name, attribute: "src"), line: line)
  }

  private func readMeta(_ element: HTMLElement, _ line: UInt64) {
    let metadata = PageMetadata(collector)
    metadata.readMeta(element, line)
    isNoFollow = isNoFollow || metadata.forbidsFollowing(element)
  }
}

extension HTMLElement {
  /// The format of its `type`; nil if it has none, or that isn't a format's.
  var claimedFormat: ImageFormat? {
    guard let type = attribute("type") else { return nil }
    return ImageFormat(mediaType: String(type))
  }

  var isBase: Bool { tag == GUMBO_TAG_BASE && !isSVG && attribute("href") != nil }
}
