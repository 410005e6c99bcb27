import Base

/// The rows of all lists, one after another, without blocking.
///
/// Open files form a stack: a list, and above it the sitemaps named by indexes. Each sitemap is read when its index
/// names it.
final class ListWalk: RowSource {
  static let areNew = true

  let lists: [URLList]
  /// The files of the lists, followed by those that indexes have named so far.
  private(set) var files: [ListFile]
  private(set) var progress = ReadingProgress()
  /// Whether rows may belong to more than one priority; all files must have been prepared.
  private(set) var hasSeveralClasses: Bool
  /// Whether the number of pages that use an image is known only after all were read.
  var readsSeveralPages: Bool { lists.contains(where: \.readsSeveralPages) }
  private(set) var warnings: [String] = []
  /// How much was read of lists that name pages, one sentence each.
  private(set) var notes: [String] = []

  /// Steps without a row before other work gets a turn: indexes may name any number of sitemaps.
  private static let stepsOfATurn = 1024

  private let opener: ListOpener
  private let listedCount: Int
  /// The index of the next listed file, or of the one at the bottom of the stack.
  private var index = 0
  private var stack: [OpenList] = []
  /// Inputs that cannot be opened twice, kept open until they are read.
  private var waiting: [Int: OpenList] = [:]
  private var goodEntriesLeft: [Int?]
  private var tree = SitemapTree()
  /// Whether the listed file has been read, and pages that it led to follow.
  private var isCrawling = false
  private var remarks = ReadingRemarks()
  private var lost = LostLists()
  /// Those that a page or a crawl is complete without.
  private var lostPages = LostLists()
  /// Listed files that can't be read at all.
  private var unreadable: Set<Int> = []
  private let normalizer = URLNormalizer()

  /// Opens every list, so that an unreadable one is reported before anything is fetched.
  ///
  /// Regular files are closed again, since a pattern may match more files than can be open. Remote files aren't
  /// requested yet.
  init(_ lists: [URLList], opener: ListOpener) throws(ListError) {
    self.lists = lists
    self.opener = opener
    files = try ListFile.all(of: lists)
    listedCount = files.count
    goodEntriesLeft = lists.map(\.limit)
    hasSeveralClasses = Set(lists.map(\.priority)).count > 1
    for (index, file) in files.enumerated() {
      if lists[file.list].mayNamePriority(in: file) == true { hasSeveralClasses = true }
      if case .url? = file.location {
        try opener.checkCanFetch(file)
        progress.addStream()
        continue
      }
      guard case .open(let open, _) = try opener.open(index, file, of: lists[file.list]) else { continue }
      if let input = open.input, !input.isRegular || opener.isStandardInput(input) {
        waiting[index] = open
        progress.addStream()
      } else {
        _ = try prepare(open)
        try checkPages(of: open, file)
        if open.rows.hasRowsByBytes { progress.addFile(bytes: open.input?.size ?? 0) } else { progress.addStream() }
      }
    }
  }

  /// Throws if a local sitemap lists only pages, and it isn't known whether to read them.
  private func checkPages(of open: OpenList, _ file: ListFile) throws(ListError) {
    let list = lists[file.list]
    guard list.sitemapPages == .undecided, open.rows.isSitemap else { return }
    while true {
      switch open.rows.next() {
      case .nothingYet: break
      case .end:
        if let error = open.rows.remarks.unreadPages(of: list, file.name) { throw error }
        return
      // It has images, or they may be elsewhere.
      default: return
      }
    }
  }

  /// The descriptor to wait for after a step would have blocked.
  private(set) var waitDescriptor: Int32?

  /// Reads the headers of streams that may set priorities; returns false if more bytes have to arrive first.
  func prepareStreams() -> Bool {
    for index in 0..<listedCount where lists[files[index].list].mayNamePriority(in: files[index]) == nil {
      guard !unreadable.contains(index) else { continue }
      do throws(ListError) {
        guard try prepareStream(index) else { return false }
      } catch {
        loseListed(error)
        waiting[index] = nil
        unreadable.insert(index)
      }
    }
    return true
  }

  private func prepareStream(_ index: Int) throws(ListError) -> Bool {
    if case .url? = files[index].location, waiting[index] == nil {
      fetchAhead(from: index)
      guard let open = try open(index) else { return false }
      waiting[index] = open
    }
    guard let open = waiting[index] else { return true }
    if try prepare(open) { return true }
    waitDescriptor = open.input?.descriptor
    return false
  }

  /// Throws at the end if a list failed, after all rows of the others.
  func next() throws(ListError) -> RowSourceStep {
    for _ in 0..<Self.stepsOfATurn {
      guard let open = stack.last else {
        if isCrawling {
          guard beginPage() else { return .wouldBlock }
          continue
        }
        guard index < listedCount else { return try end() }
        guard beginListed() else { return .wouldBlock }
        continue
      }
      if goodEntriesLeft[files[open.file].list] == 0 {
        finishListed()
        continue
      }
      if open.hasEnded || open.children.count >= ListOpener.fetchesAhead {
        guard descend(from: open) else { return .wouldBlock }
        continue
      }
      if let step = readStep(open) { return step }
    }
    return .nothingYet
  }

  private(set) var run: [PlainRow] = []

  func takeRun(maximum: Int) -> (file: Int, priority: LoadPriority)? {
    guard let open = stack.last, !open.hasEnded, open.children.isEmpty else { return nil }
    let list = files[open.file].list
    let maximum = min(maximum, goodEntriesLeft[list] ?? maximum)
    run.removeAll(keepingCapacity: true)
    if maximum > 0 { open.rows.takePlainRows(into: &run, maximum: maximum) }
    progress.countEntries(run.count)
    return run.isEmpty ? nil : (open.file, lists[list].priority)
  }

  func hasLimit(file: Int) -> Bool { goodEntriesLeft[files[file].list] != nil }

  /// Counts the last rows, all good entries, towards the limit of their list.
  func countGoodEntries(_ count: Int = 1, file: Int) {
    let list = files[file].list
    if let left = goodEntriesLeft[list] { goodEntriesLeft[list] = left - count }
  }

  /// The estimated number of entries; see ``ListReader/expectedEntries``.
  var expectedEntries: Int? { progress.expectedEntries(consumedInCurrent: stack.first?.consumedBytes ?? 0) }
}

/// Rows.
extension ListWalk {
  /// Returns the next row of `open`; nil if something else comes first.
  private func readStep(_ open: OpenList) -> RowSourceStep? {
    do throws(ListError) {
      guard try open.readHeader() else { return wait(for: open.input?.descriptor) }
    } catch {
      open.fail(error)
      return nil
    }
    switch open.rows.next() {
    case .row(let row):
      if open.listsPages, row.problem == nil, !crawl.isNew(listedImage: row.url, of: files[open.file]) { return nil }
      progress.countEntries()
      return .row(row, file: row.file ?? open.file, nil)
    case .child(let written, let line, let kind): add(written, kind, line: line, of: open)
    case .nothingYet: return .nothingYet
    case .wouldBlock: return wait(for: open.input?.descriptor)
    case .end: open.end()
    }
    return nil
  }

  private func wait(for descriptor: Int32?) -> RowSourceStep {
    waitDescriptor = descriptor
    return .wouldBlock
  }

  private func prepare(_ open: OpenList) throws(ListError) -> Bool {
    guard try open.readHeader() else { return false }
    if open.rows.mayNamePriority { hasSeveralClasses = true }
    return true
  }
}

/// Listed files.
extension ListWalk {
  /// Pushes the next listed file onto the stack, or skips it; returns false if it would block.
  private func beginListed() -> Bool {
    if goodEntriesLeft[files[index].list] == 0 || unreadable.contains(index) {
      finishListed()
      return true
    }
    fetchAhead(from: index)
    tree = SitemapTree()
    remarks = ReadingRemarks()
    do throws(ListError) {
      let held = waiting.removeValue(forKey: index)
      guard let open = if let held { held } else { try open(index) } else { return false }
      stack = [open]
    } catch {
      loseListed(error)
      finishListed()
    }
    return true
  }

  private func finishListed() {
    stack.forEach(addRemarks)
    let (file, list, crawl) = (files[index], lists[files[index].list], crawl)
    warnings += remarks.warnings(of: file.name, list.sitemapPages)
    if file.isLast {
      if let warning = crawl.warning { warnings.append("\(file.name): \(warning)") }
      for sentence in crawl.losses { loseListed(ListError(manifest: file.name, message: sentence)) }
      if let note = crawl.note { notes.append("\(file.name): \(note)") }
    }
    opener.cancelFetches(of: stack.flatMap(\.children) + Array(crawl.ahead) + [index])
    crawl.ahead = []
    isCrawling = false
    if files[index].isLast { opener.endList(files[index].list) }
    progress.finishFile(at: index)
    waiting[index] = nil
    stack = []
    index += 1
  }

  /// Adds the remarks of a file; a sitemap of an index that lists only pages is an error of its own.
  private func addRemarks(of open: OpenList) {
    var added = open.rows.remarks
    let file = files[open.file]
    if open.hasEnded, let error = added.unreadPages(of: lists[file.list], file.name) {
      loseListed(error)
      added.pages = 0
    }
    remarks.add(added)
  }

  private func fetchAhead(from index: Int) {
    for next in index..<min(index + ListOpener.fetchesAhead, listedCount) where waiting[next] == nil {
      opener.beginFetch(next, files[next])
    }
  }

  /// Opens a file; nil if its fetch isn't done.
  private func open(_ index: Int) throws(ListError) -> OpenList? {
    let list = lists[files[index].list]
    switch try opener.open(index, files[index], of: list) {
    case .open(let open, let url):
      let kind = files[index].kind
      let hasOwnBase = kind == .page || kind.isPart
      if let url, hasOwnBase || list.baseURL == nil && list.format != .combined { files[index].base = url }
      return open
    case .wouldBlock(let descriptor):
      waitDescriptor = descriptor
      return nil
    }
  }
}

/// Files that others name.
extension ListWalk {
  private func add(_ written: UnsafeRawBufferPointer, _ kind: ListFile.Kind, line: UInt64, of open: OpenList) {
    var parent = files[open.file]
    do throws(InputError) {
      let child: ListFile?
      if kind == .sitemap {
        child = try tree.child(written, of: parent, by: normalizer)
      } else if open.rows.isSitemap {
        child = try crawl.page(listed: written, of: parent)
      } else {
        parent.site = parent.site ?? parent.base ?? PageRows.unknownSite
        child = crawl.child(written, kind, of: parent)
      }
      guard let child else { return }
      do throws(ListError) { try opener.checkCanFetch(child) } catch { return lose(error, of: child) }
      files.append(child)
      if kind == .page {
        crawl.ahead.append(files.count - 1)
      } else {
        open.children.append(files.count - 1)
        opener.beginFetch(files.count - 1, child)
      }
    } catch {
      lose(ListError(manifest: parent.name, line: line, message: error.message))
    }
  }

  /// Continues with the first file that `open` has named, or ends `open` if there is none; returns false if it would
  /// block.
  private func descend(from open: OpenList) -> Bool {
    guard let child = open.children.first else {
      finish(open)
      return true
    }
    do throws(ListError) {
      guard let opened = try self.open(child) else { return false }
      stack.append(opened)
    } catch {
      lose(error, of: files[child])
    }
    open.children.removeFirst()
    return true
  }

  /// Pops a file that has been read, maybe not to its end.
  private func finish(_ open: OpenList) {
    if stack.count == 1 {
      if let failure = open.failure {
        if !isCrawling { loseListed(failure) } else if open.wasRead { lose(failure) } else { lose(failure, of: files[open.file]) }
      }
      endBottom(open)
    } else {
      addRemarks(of: open)
      if let failure = open.failure { lose(failure, of: files[open.file]) }
      release(open.file)
      stack.removeLast()
    }
  }

  /// A page is complete without its web app manifest, which some servers lack. A sitemap asks for its pages; one that another
  /// page links to may be gone.
  private func lose(_ error: ListError, of file: ListFile) {
    guard file.kind == .webManifest || file.kind == .page && !file.isListedPage else { return lose(error) }
    if let warning = lostPages.add(error) { warnings.append(warning) }
  }

  private func lose(_ error: ListError) { if let warning = lost.add(error) { warnings.append(warning) } }

  /// As ``lose(_:)``, but without a warning of the first, which is thrown at the end.
  private func loseListed(_ error: ListError) {
    let isFirst = lost.error == nil
    if let warning = lost.add(error), !isFirst { warnings.append(warning) }
  }

  private func end() throws(ListError) -> RowSourceStep {
    if let warning = lostPages.rest { warnings.append(warning) }
    lostPages = LostLists()
    if let error = lost.error { throw error }
    return .end
  }
}

/// Pages.
extension ListWalk {
  /// The number of pages that use the image of that URL, by the file that names it.
  func pages(file: Int, using image: UnsafeRawBufferPointer) -> UInt64 {
    let list = files[file].list
    return opener.crawl(of: list, lists[list]).pages(using: image)
  }

  private var crawl: PageCrawl {
    let list = files[index].list
    return opener.crawl(of: list, lists[list])
  }

  /// Ends the file at the bottom of the stack, and the listed file if no page follows.
  private func endBottom(_ open: OpenList) {
    guard !crawl.ahead.isEmpty else { return finishListed() }
    addRemarks(of: open)
    if isCrawling { release(open.file) }
    stack = []
    isCrawling = true
  }

  /// Frees what only reading a file needs, since others may name 100,000 of them.
  private func release(_ index: Int) {
    var file = files[index]
    file.location = nil
    // Rows of sitemaps may be relative.
    if file.kind != .sitemap { (file.base, file.site, file.trusted) = (nil, nil, nil) }
    files[index] = file
  }

  /// Pushes the next page, or skips it; returns false if it would block.
  private func beginPage() -> Bool {
    let crawl = crawl
    guard let page = crawl.ahead.first else {
      finishListed()
      return true
    }
    for next in crawl.ahead.prefix(ListOpener.fetchesAhead) { opener.beginFetch(next, files[next]) }
    do throws(ListError) {
      guard let open = try open(page) else { return false }
      // A sitemap's page may have moved, such as to https.
      if files[page].isListedPage { files[page].site = files[page].base }
      if crawl.hasLeft(files[page]) {
        let message = "it redirects to another site and was skipped; to read it, set crawl.same-site: false"
        throw ListError(manifest: files[page].name, message: message)
      }
      stack = [open]
    } catch {
      lose(error, of: files[page])
      release(page)
    }
    crawl.ahead.removeFirst()
    return true
  }
}
