import CXXHash
import Base

extension URLList {
  /// Which pages that a page links to are read, too.
  package struct Crawl: Sendable {
    /// The number of links that may lead to a page; 0, the default: only the page itself.
    package var depth = 0
    /// The maximum number of pages. Default: nil, which means ``usualPages``, and that more of them are an error.
    package var pages: Int?
    /// The maximum number of pages if none is set.
    package static let usualPages = 1000
    /// Whether only pages of the first page's scheme, host and port are read. Default: true.
    package var sameSite = true
    /// Only pages that match one of these are read; all if empty, which is the default.
    package var include: [URLPattern] = []
    /// Pages that match one of these aren't read, even if included. Default: none.
    package var exclude: [URLPattern] = []

    package init() {}
  }
}

/// The pages, stylesheets and images that the pages of one list have named. Each is read once.
///
/// Pages are read in the order of their distance from the first.
final class PageCrawl {
  /// The maximum number of imports that lead to a stylesheet.
  private static let maximumImports = 8
  /// The maximum number of stylesheets.
  private static let maximumStylesheets = 10_000
  /// The maximum memory of the URLs of pages and stylesheets.
  private static let maximumURLBytes = 16 << 20

  let rules: URLList.Crawl
  /// Whether the number of pages that use an image is known only after all were read.
  let readsSeveralPages: Bool
  /// The pages that follow, by the index of their file.
  var ahead: ArraySlice<Int> = []

  private let normalizer = URLNormalizer()
  /// The normal form of what a sitemap lists.
  private var listed: [UInt8] = []
  /// The first page that a sitemap lists.
  private var site: BaseURL?
  private var otherSites: (count: Int, first: String)?
  /// The pages that sitemaps list, and those of them that are read.
  private var (listedPages, readPages) = (0, 0)
  private var images = ImageUses()
  /// The stylesheets that were named, by their index in ``sheets``.
  private var sheetIndices: [BaseURL: Int] = [:]
  private var sheets: [Sheet] = []
  /// The stylesheet that is being read.
  private var currentSheet: Int?
  private var seen: Set<BaseURL> = []
  private var seenBytes = 0
  private var pages = 0
  private var stylesheets = 0
  /// Why pages or stylesheets were skipped, each reason once.
  private var skipped: [String] = []
  private var pageLimit: Int { rules.pages ?? URLList.Crawl.usualPages }
  private var hasReachedPageLimit = false

  init(_ list: URLList) {
    rules = list.crawl
    readsSeveralPages = list.readsSeveralPages
  }

  /// Why pages that must be read, or stylesheets, were skipped, one sentence each.
  var losses: [String] {
    let limit = hasReachedPageLimit && rules.pages == nil ? ["\(limitSentence); set crawl.pages to read more"] : []
    guard let otherSites else { return limit + skipped }
    let pages = otherSites.count == 1 ? "1 page on another site was" : "\(otherSites.count) pages on other sites were"
    return limit + skipped + ["\(pages) skipped, such as \(otherSites.first); to read them, set crawl.same-site: false"]
  }

  /// That the number of pages which the user set was reached; nil if it wasn't.
  var warning: String? { hasReachedPageLimit && rules.pages != nil ? "\(limitSentence); crawl.pages is \(pageLimit)" : nil }

  /// How many of a sitemap's pages are read; nil if it lists none.
  var note: String? { readPages == 0 ? nil : "read \(readPages) of \(listedPages) pages that it lists (limit \(pageLimit))" }

  private var limitSentence: String {
    listedPages > readPages
      ? "read only \(readPages) of the \(listedPages) pages that it lists"
      : "it leads to more than \(pageLimit) pages; the others were skipped"
  }

  /// A stylesheet's images and imports, since each page that names it uses them.
  private struct Sheet {
    var images: [UInt64] = []
    var imports: [Int] = []
    /// The last page that was counted.
    var page: UInt32 = 0
  }

  /// The images that follow are those of the stylesheet at `url`, or of the next page if it is nil.
  func begin(_ stylesheet: BaseURL?) {
    currentSheet = stylesheet.flatMap { sheetIndices[$0] }
    if stylesheet == nil { images.page += 1 } else if let currentSheet { sheets[currentSheet].page = images.page }
  }

  /// Whether no page or stylesheet before has named that image.
  func isNew(image url: UnsafeRawBufferPointer) -> Bool {
    let key = images.key(url)
    if let currentSheet, images.sheetImages < ImageUses.maximumSheetImages {
      sheets[currentSheet].images.append(key)
      images.sheetImages += 1
    }
    return images.use(key)
  }

  /// Frees all but the counts of pages.
  func end() {
    (seen, sheetIndices, sheets, ahead, listed, site) = ([], [:], [], [], [], nil)
    currentSheet = nil
  }

  /// The number of pages that use that image.
  func pages(using image: UnsafeRawBufferPointer) -> UInt64 { images.count(images.key(image)) }

  /// Counts the images of a stylesheet that was read before, and of its imports.
  private func use(sheet: Int) {
    var rest = [sheet]
    while let next = rest.popLast() {
      guard sheets[next].page != images.page else { continue }
      sheets[next].page = images.page
      for image in sheets[next].images { _ = images.use(image) }
      rest += sheets[next].imports
    }
  }

  /// Records that `parent` names a stylesheet, which may have been read before.
  private func note(sheet url: BaseURL, of parent: ListFile) {
    let known = sheetIndices[url]
    let index = known ?? sheets.count
    if known == nil {
      sheetIndices[url] = index
      sheets.append(Sheet())
    }
    if parent.kind == .stylesheet, let url = parent.url, let importer = sheetIndices[url] {
      sheets[importer].imports.append(index)
    }
    if known != nil { use(sheet: index) }
  }

  /// Returns the file of a page or stylesheet that `parent` names; nil if it was named before, or if the rules exclude it.
  func child(_ url: UnsafeRawBufferPointer, _ kind: ListFile.Kind, of parent: ListFile) -> ListFile? {
    guard let parts = URLNormalizer.parts(ofNormalForm: url), let first = parent.site else { return nil }
    let child = BaseURL(normalized: url, parts: parts)
    if seen.isEmpty { seen.insert(first) }
    guard !seen.contains(child) else {
      if kind.isPart { note(sheet: child, of: parent) }
      return nil
    }
    if kind == .page {
      guard !rules.sameSite || child.hasSameOrigin(as: first), isSelected(url, parts, by: rules.include, butNot: rules.exclude)
      else { return nil }
    }
    guard hasRoom(for: child, kind, of: parent) else { return nil }
    if kind.isPart { note(sheet: child, of: parent) }
    let depth = kind == .page ? parent.depth + 1 : parent.depth
    var file = parent.child(kind, at: child, depth: depth, trusted: parent.base)
    file.imports = kind.isPart ? parent.imports + 1 : 0
    file.site = first
    return file
  }

  /// Whether a page that the rules allow has redirected to another site.
  func hasLeft(_ page: ListFile) -> Bool {
    guard rules.sameSite, let site = page.site, let url = page.base else { return false }
    return !url.hasSameOrigin(as: site)
  }

  private func hasRoom(for child: BaseURL, _ kind: ListFile.Kind, of parent: ListFile) -> Bool {
    // Without a sitemap, the list itself is the first page.
    if kind == .page, pages + (listedPages == 0 ? 1 : 0) >= pageLimit {
      hasReachedPageLimit = true
      return false
    }
    let reason: String? =
      if seenBytes + child.bytes.count > Self.maximumURLBytes {
        "the URLs of pages exceed \(Self.maximumURLBytes >> 20) MiB in total; later ones were skipped"
      } else if kind.isPart, stylesheets >= Self.maximumStylesheets {
        "its pages name more than \(Self.maximumStylesheets) stylesheets; the others were skipped"
      } else if kind.isPart, parent.imports >= Self.maximumImports {
        "stylesheets import each other more than \(Self.maximumImports) levels deep; the deeper ones were skipped"
      } else {
        nil
      }
    if let reason {
      if !skipped.contains(reason) { skipped.append(reason) }
      return false
    }
    if kind == .page { pages += 1 } else { stylesheets += 1 }
    seen.insert(child)
    seenBytes += child.bytes.count
    return true
  }
}

/// What sitemaps list.
extension PageCrawl {
  /// Whether no sitemap before has listed an image with that URL; an invalid one counts as new.
  ///
  /// Pages then don't name it again.
  func isNew(listedImage written: UnsafeRawBufferPointer, of sitemap: ListFile) -> Bool {
    listed.removeAll(keepingCapacity: true)
    do throws(InvalidURL) {
      _ = try normalizer.normalize(written, relativeTo: sitemap.base, into: &listed)
    } catch {
      return true
    }
    return listed.withUnsafeBytes { images.use(images.key($0), onPage: false) }
  }

  /// Returns the file of a page as a sitemap writes its URL; nil if it was named before, or if the rules exclude it.
  ///
  /// Throws a sentence if the URL is invalid.
  func page(listed written: UnsafeRawBufferPointer, of sitemap: ListFile) throws(InputError) -> ListFile? {
    listed.removeAll(keepingCapacity: true)
    let parts: URLParts
    do throws(InvalidURL) {
      parts = try normalizer.normalize(written, relativeTo: sitemap.base, into: &listed)
    } catch {
      throw InputError("the sitemap lists a page with an invalid URL, '\(SitemapTree.shown(written))': \(error.message)")
    }
    let page = listed.withUnsafeBytes { BaseURL(normalized: $0, parts: parts) }
    guard !seen.contains(page), listed.withUnsafeBytes({ isSelected($0, parts, by: rules.include, butNot: rules.exclude) }) else {
      return nil
    }
    // A sitemap may be on another host than its pages.
    let site = site ?? page
    self.site = site
    guard !rules.sameSite || page.hasSameOrigin(as: site) else {
      otherSites = (otherSites.map { $0.count + 1 } ?? 1, otherSites?.first ?? SitemapTree.shown(written))
      return nil
    }
    listedPages += 1
    guard hasRoom(for: page, .page, of: sitemap) else { return nil }
    readPages += 1
    // A local sitemap's URLs are the user's own, as those of any local list.
    var file = sitemap.child(.page, at: page, depth: 0, trusted: page)
    file.site = site
    return file
  }
}

/// The images of pages, and how many pages use each.
private struct ImageUses {
  /// The maximum number of images of stylesheets that count for later pages, too.
  static let maximumSheetImages = 1 << 20

  private struct Slot: ProbedSlot {
    var key: UInt64 = 0
    var count: UInt32 = 0
    var lastPage: UInt32 = 0
    var isFree: Bool { key == 0 }
  }

  /// The number of the current page.
  var page: UInt32 = 0
  var sheetImages = 0
  private var slots = ProbedTable(free: Slot())
  // Keys can't be chosen to collide.
  private let seed = UInt64.random(in: .min ... .max)

  func key(_ url: UnsafeRawBufferPointer) -> UInt64 { max(1, XXH3_64bits_withSeed(url.baseAddress, url.count, seed)) }

  /// Counts the current page, once, unless no page has used the image so far; returns whether it is new.
  mutating func use(_ key: UInt64, onPage: Bool = true) -> Bool {
    var index = slots.index(hash: key) { $0.key == key }
    let isNew = slots[index].isFree
    if isNew { index = slots.insert(Slot(key: key), at: index) { $0.key } ?? index }
    if onPage, slots[index].lastPage != page {
      slots[index].lastPage = page
      slots[index].count += 1
    }
    return isNew
  }

  func count(_ key: UInt64) -> UInt64 { UInt64(slots[slots.index(hash: key) { $0.key == key }].count) }
}
