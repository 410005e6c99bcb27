import ImagePrimitives
import ImageURLs

/// Rows of a page or a stylesheet: the URLs of its images, then the stylesheets and pages that it names.
final class PageRows: RowReader {
  private let buffer: InputBuffer
  private let isStylesheet: Bool
  private let contentType: String?
  private let url: BaseURL?
  /// The URL before redirects.
  private let named: BaseURL?
  private let manifest: String
  private let crawl: PageCrawl
  /// Whether the links of this page are followed.
  private let followsLinks: Bool
  private var bytes: [UInt8] = []
  private var content: Content?
  private var hasBegun = false

  /// Creates the rows of a document at `url`.
  init(
    _ buffer: InputBuffer,
    of file: ManifestFile,
    at url: BaseURL?,
    contentType: String?,
    _ crawl: PageCrawl
  ) {
    self.buffer = buffer
    isStylesheet = file.kind == .stylesheet
    self.contentType = contentType
    self.url = url
    named = file.url
    manifest = file.name
    self.crawl = crawl
    followsLinks = file.depth < crawl.rules.depth
  }

  /// Reads and parses the whole document.
  func readHeader() throws(ManifestError) -> Bool {
    if content != nil { return true }
    guard let url else {
      throw ManifestError(
        manifest: manifest,
        message: "the URL of this page is unknown; set base-url, such as https://www.example.com/"
      )
    }
    let rules = PageRules()
    // One byte more than is parsed shows that the rest is missing.
    while bytes.count <= rules.limits.bytes {
      if buffer.bytes.isEmpty {
        switch buffer.fill() {
        case .grown: continue
        case .wouldBlock: return false
        case .ended: break
        }
        if let failure = buffer.failure { throw failure.error(in: manifest) }
        break
      }
      bytes.append(contentsOf: buffer.bytes)
      buffer.consume(buffer.bytes.count)
    }
    let (isStylesheet, contentType) = (isStylesheet, contentType)
    content = bytes.withRawBytes { bytes in
      isStylesheet
        ? Content(StylesheetDocument(bytes, contentType: contentType, url: url, rules: rules))
        : Content(PageDocument(bytes, contentType: contentType, url: url, rules: rules))
    }
    bytes = []
    return true
  }

  var mayNamePriority: Bool { false }
  var hasRowsByBytes: Bool { false }

  var remarks: ReadingRemarks {
    var remarks = ReadingRemarks()
    // The first limit is the error of ``checkEnd()``.
    if let found = content?.remarks {
      remarks.documents = Array(found.warnings(of: manifest).dropFirst(found.exceeded.isEmpty ? 0 : 1))
    }
    return remarks
  }

  /// The images of a part that wasn't read are unknown.
  func checkEnd() throws(ManifestError) {
    if let (line, sentence) = content?.remarks.loss() { throw ManifestError(manifest: manifest, line: line, message: sentence) }
  }

  func next() -> RowStep {
    guard let content else { preconditionFailure("next() requires readHeader() first") }
    if !hasBegun {
      crawl.begin(isStylesheet ? named : nil)
      hasBegun = true
    }
    while let (image, claims) = content.nextImage() {
      let url = content.bytes(image.url)
      let isNew = image.problem != nil || crawl.isNew(image: url)
      let note = EntryNote(origin: image.origin, pages: crawl.readsSeveralPages ? 0 : 1, claims: claims)
      if isNew { return .row(Row(url: url, line: image.line, problem: image.problem, note: note)) }
    }
    if let sheet = content.nextStylesheet() { return .child(content.bytes(sheet.url), line: sheet.line, .stylesheet) }
    while followsLinks, let link = content.nextLink() {
      if !link.isNoFollow { return .child(content.bytes(link.url), line: link.line, .page) }
    }
    return .end
  }
}

/// The parsed parts of a document, taken one after another.
private final class Content {
  let remarks: PageRemarks
  private var images: ArraySlice<Image>
  private var stylesheets: ArraySlice<PageStylesheet>
  private var links: ArraySlice<PageLink>
  private let text = GrowingBytes()

  typealias Image = (image: PageImage, claims: [ImageClaims])

  init(_ page: PageDocument) {
    (remarks, stylesheets) = (page.remarks, page.stylesheets[...])
    images = Self.merged(page.images, in: page.text)
    links = page.isNoFollow ? [] : page.links[...]
    page.text.withRawBytes { text.append($0) }
  }

  init(_ stylesheet: StylesheetDocument) {
    (remarks, stylesheets) = (stylesheet.remarks, stylesheet.imports[...])
    images = Self.merged(stylesheet.images, in: stylesheet.text)
    links = []
    stylesheet.text.withRawBytes { text.append($0) }
  }

  private static let maximumClaims = 16

  /// Returns each image once, with what all of its elements say.
  private static func merged(_ images: [PageImage], in text: [UInt8]) -> ArraySlice<Image> {
    var merged: [Image] = []
    var places: [ArraySlice<UInt8>: Int] = [:]
    for image in images {
      let claims = image.claims == ImageClaims() ? [] : [image.claims]
      if image.problem == nil, let place = places[text[image.url]] {
        guard let other = claims.first, merged[place].claims.count < maximumClaims else { continue }
        if !merged[place].claims.contains(other) { merged[place].claims.append(other) }
      } else {
        if image.problem == nil { places[text[image.url]] = merged.count }
        merged.append((image, claims))
      }
    }
    return merged[...]
  }

  func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer { text[range] }

  func nextImage() -> Image? { images.popFirst() }
  func nextStylesheet() -> PageStylesheet? { stylesheets.popFirst() }
  func nextLink() -> PageLink? { links.popFirst() }
}
