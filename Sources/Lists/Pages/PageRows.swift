import Base

/// Rows of a page or a stylesheet: the URLs of its images, then the stylesheets and pages that it names.
final class PageRows: RowReader {
  private let buffer: InputBuffer
  private let file: ListFile
  private let contentType: String?
  private let url: BaseURL
  private let rules: PageRules
  private let crawl: PageCrawl
  private typealias Image = (image: PageImage, claims: [ImageClaims])
  private static let maximumClaims = 16

  /// Those of the document; nil until it is read.
  private var found: PageRemarks?
  /// The bytes of the document, then the URLs in it.
  private let text = GrowingBytes()
  /// What follows of the document.
  private var images: ArraySlice<Image> = []
  private var stylesheets: ArraySlice<PageLink> = []
  private var links: ArraySlice<PageLink> = []
  private var hasBegun = false
  private var unknownStylesheets = 0
  /// Its own URL, if it is an image that a sitemap lists without an image extension.
  private var image: InlineReader?

  /// The URL of a local page without a base. Its host doesn't exist (RFC 2606), and nothing of it is requested.
  static let unknownSite: BaseURL = {
    do throws(InvalidURL) { return try BaseURL("https://relative.invalid/") } catch { fatalError("\(error)") }
  }()

  init(_ buffer: InputBuffer, of file: ListFile, at url: BaseURL?, contentType: String?, _ rules: PageRules, _ crawl: PageCrawl) {
    (self.buffer, self.file, self.contentType) = (buffer, file, contentType)
    (self.url, self.rules, self.crawl) = (url ?? Self.unknownSite, rules, crawl)
  }

  /// Reads and parses the whole document.
  func readHeader() throws(InputError) -> Bool {
    if found != nil { return true }
    // One byte more than is parsed shows that the rest is missing.
    reading: while text.count <= rules.limits.bytes {
      switch buffer.find({ $0.isEmpty ? nil : true }) {
      case .found:
        text.append(buffer.bytes)
        buffer.consume(buffer.bytes.count)
      case .wouldBlock: return false
      case .none:
        if let failure = buffer.failure { throw failure }
        break reading
      }
    }
    let document = try parse(text.bytes)
    found = document.remarks
    text.removeAll()
    document.text.withRawBytes { text.append($0) }
    images = Self.merged(document.images, in: document.text)
    stylesheets = document.stylesheets[...]
    if file.depth < crawl.rules.depth, !document.isNoFollow { links = document.links[...] }
    return true
  }

  private func parse(_ bytes: UnsafeRawBufferPointer) throws(InputError) -> PageDocument {
    if file.kind.isPart {
      let isWebManifest = file.kind == .webManifest
      if Self.isPage(bytes, contentType: contentType) {
        let what = isWebManifest ? "web app manifest" : "stylesheet"
        throw InputError("the server sent an HTML page instead of a \(what)")
      }
      return PageDocument(stylesheet: bytes, contentType: contentType, url: url, rules: rules, isWebManifest: isWebManifest)
    }
    guard let other = Self.otherContent(bytes, contentType: contentType) else {
      return PageDocument(bytes, contentType: contentType, url: url, rules: rules)
    }
    guard file.kind == .page else {
      let what = file.url == nil ? "this is \(other), not a page" : "the server sent \(other) instead of a page"
      throw InputError("\(what); name a page, or use 'urls' for images")
    }
    // Pages link to images and other files as a matter of course.
    if file.isListedPage, let named = file.url, case .image = ContentSniff(prefix: bytes),
      named.bytes.withUnsafeBytes({ crawl.isNew(image: $0) })
    {
      image = InlineReader(named)
    }
    return PageDocument()
  }

  /// Returns each image once, with what all of its elements say.
  private static func merged(_ images: [PageImage], in text: [UInt8]) -> ArraySlice<Image> {
    var merged: [Image] = []
    var places: [ArraySlice<UInt8>: Int] = [:]
    for image in images {
      if image.problem == nil, let place = places[text[image.url]] {
        guard merged[place].claims.count < maximumClaims, !merged[place].claims.contains(image.claims) else { continue }
        merged[place].claims.append(image.claims)
      } else {
        if image.problem == nil { places[text[image.url]] = merged.count }
        merged.append((image, [image.claims]))
      }
    }
    // A place that says nothing counts beside others.
    for index in merged.indices where merged[index].claims == [ImageClaims()] { merged[index].claims = [] }
    return merged[...]
  }

  /// Whether a document has the type of HTML, or no type and the first bytes of HTML.
  private static func isPage(_ bytes: UnsafeRawBufferPointer, contentType: String?) -> Bool {
    let type = URLList.mediaType(contentType)
    return URLList.isHTML(type) || type.isEmpty && ContentSniff(prefix: bytes) == .html
  }

  /// Returns what a document is instead of a page; nil if its type or its first bytes are those of HTML.
  private static func otherContent(_ bytes: UnsafeRawBufferPointer, contentType: String?) -> String? {
    let type = URLList.mediaType(contentType)
    if URLList.isHTML(type) { return nil }
    let sniff = ContentSniff(prefix: bytes)
    switch sniff {
    case .html: return nil
    // A fragment of HTML may begin with any text.
    case .text where type.isEmpty, .empty where type.isEmpty: return nil
    case .unknown where type.isEmpty: return "a binary file"
    default: return type.isEmpty ? sniff.summary : String(type.prefix(64))
    }
  }

  var hasRowsByBytes: Bool { false }

  var remarks: ReadingRemarks {
    var remarks = ReadingRemarks()
    // The first limit is the error of ``checkEnd()``.
    if let found {
      remarks.documents = Array(found.warnings(of: file.name).dropFirst(found.exceeded.isEmpty ? 0 : 1))
    }
    if unknownStylesheets > 0 {
      let sheets =
        unknownStylesheets == 1
        ? "1 stylesheet with a relative URL wasn't" : "\(unknownStylesheets) stylesheets with relative URLs weren't"
      remarks.documents.append("\(file.name): \(sheets) read; set base-url to the page's site")
    }
    return remarks
  }

  /// The images of a part that wasn't read are unknown.
  func checkEnd() throws(InputError) { if let loss = found?.loss { throw loss } }

  func next() -> RowStep {
    if !hasBegun {
      crawl.begin(file.kind.isPart ? file.url : nil)
      hasBegun = true
    }
    if case .row(let row)? = image?.next() { return .row(row) }
    while let (image, claims) = images.popFirst() {
      let url = text[image.url]
      guard image.problem != nil || crawl.isNew(image: url) else { continue }
      var row = Row(url: url, line: image.line, problem: image.problem)
      row.note = EntryNote(origin: image.origin, pages: crawl.readsSeveralPages || file.isListedPage ? 0 : 1, claims: claims)
      if isOfUnknownSite(url) {
        row.url = UnsafeRawBufferPointer(rebasing: url[Self.unknownSite.parts.path.lowerBound...])
        row.problem = Self.unknownProblem
      }
      return .row(row)
    }
    while let sheet = stylesheets.popFirst() {
      if !isOfUnknownSite(text[sheet.url]) {
        return .child(text[sheet.url], line: sheet.line, sheet.isWebManifest ? .webManifest : .stylesheet)
      }
      unknownStylesheets += 1
    }
    while let link = links.popFirst() {
      let url = text[link.url]
      // A link to an image leads to no page.
      if !link.isNoFollow, !ImageExtension.ends(url), !isOfUnknownSite(url) { return .child(url, line: link.line, .page) }
    }
    return .end
  }
}

extension PageRows {
  private static let unknownProblem =
    "the page is a file, so its relative URLs have no site; set base-url to it, since images aren't read as files"

  private func isOfUnknownSite(_ url: UnsafeRawBufferPointer) -> Bool { url.starts(with: Self.unknownSite.bytes) }
}
