import ImagePrimitives
import ImageURLs

/// Rows of a page or a stylesheet: the URLs of its images, then the stylesheets and pages that it names.
final class PageRows: RowReader {
  private let buffer: InputBuffer
  private let isStylesheet: Bool
  private let contentType: String?
  private let url: BaseURL?
  private let manifest: String
  private let crawl: PageCrawl
  /// Whether the links of this page are followed.
  private let followsLinks: Bool
  private var bytes: [UInt8] = []
  private var content: Content?

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
    while let image = content.nextImage() {
      let url = content.bytes(image.url)
      if let problem = image.problem { return .row(Row(url: url, line: image.line, problem: problem)) }
      if crawl.isNew(image: url) { return .row(Row(url: url, line: image.line)) }
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
  private var images: ArraySlice<PageImage>
  private var stylesheets: ArraySlice<PageStylesheet>
  private var links: ArraySlice<PageLink>
  private let text = GrowingBytes()

  init(_ page: PageDocument) {
    (remarks, images, stylesheets) = (page.remarks, page.images[...], page.stylesheets[...])
    links = page.isNoFollow ? [] : page.links[...]
    page.text.withRawBytes { text.append($0) }
  }

  init(_ stylesheet: StylesheetDocument) {
    (remarks, images, stylesheets) = (stylesheet.remarks, stylesheet.images[...], stylesheet.imports[...])
    links = []
    stylesheet.text.withRawBytes { text.append($0) }
  }

  func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer { text[range] }

  func nextImage() -> PageImage? { images.popFirst() }
  func nextStylesheet() -> PageStylesheet? { stylesheets.popFirst() }
  func nextLink() -> PageLink? { links.popFirst() }
}
