/// Remarks of a list's readers, reported once per list instead of once per line.
struct ReadingRemarks {
  /// Lines or elements of one kind: their number, and the first of them.
  struct Oddity {
    private(set) var count = 0
    private(set) var first: (line: UInt64, text: String)?

    mutating func add(line: UInt64, _ text: @autoclosure () -> String) {
      count += 1
      if first == nil { first = (line, text()) }
    }

    mutating func add(_ other: Oddity) {
      count += other.count
      first = first ?? other.first
    }
  }

  private static let maximumDocuments = 100

  /// Entries that were kept.
  var entries = 0
  /// Sitemaps: entries without an image, whose pages aren't read.
  var pages = 0
  /// Sitemaps: entries, and sitemaps of an index, whose `lastmod` is too old.
  var tooOld = 0
  /// Sitemaps: whether some of these name images.
  var hasOldImages = false
  /// Sitemaps: unreadable dates.
  var unreadableDates = Oddity()
  /// Sitemaps: readable dates that were compared, those in the future, and those that are the time of the request.
  var dates = 0, futureDates = 0, requestDates = 0
  /// Feeds: items.
  var items = 0
  /// Access logs: requests that aren't entries.
  var otherRequests = 0
  /// Access logs: lines in another format.
  var malformedLines = Oddity()
  /// Pages and stylesheets: sentences about what was skipped.
  var documents: [String] = []

  mutating func add(_ other: ReadingRemarks) {
    entries += other.entries
    pages += other.pages
    tooOld += other.tooOld
    hasOldImages = hasOldImages || other.hasOldImages
    unreadableDates.add(other.unreadableDates)
    dates += other.dates
    futureDates += other.futureDates
    requestDates += other.requestDates
    items += other.items
    otherRequests += other.otherRequests
    malformedLines.add(other.malformedLines)
    // A crawl may have any number of them.
    documents += other.documents.prefix(max(0, Self.maximumDocuments - documents.count))
  }

  /// The error of a sitemap that lists only pages, if it isn't known whether to read them; nil for any other list.
  func unreadPages(of list: URLList, _ name: String) -> ListError? {
    guard list.sitemapPages == .undecided, entries == 0, pages > 0, !hasOldImages else { return nil }
    let message =
      "it lists \(counted(pages, "page", "pages")) and no images; set pages: true to read the images of these pages, or pages: false to "
      + "ignore them (if they are images, set include: [\"*\"])"
    return ListError(manifest: name, message: message)
  }

  /// The warnings, one sentence each.
  func warnings(of list: String, _ sitemapPages: URLList.SitemapPages) -> [String] {
    var sentences = documents
    if let first = malformedLines.first {
      sentences.append(
        "\(list): \(counted(malformedLines.count, "line isn't", "lines aren't")) in a known log format; "
          + "the first is line \(first.line): '\(first.text)'"
      )
    }
    if let first = unreadableDates.first {
      sentences.append(
        "\(list): ignored \(counted(unreadableDates.count, "unreadable lastmod", "unreadable lastmods")); "
          + "the first is in line \(first.line): '\(first.text)'"
      )
    }
    if futureDates + requestDates > 0 {
      let plausible = dates - futureDates - requestDates
      let reasons = [
        counted(futureDates, "is in the future", "are in the future"),
        counted(requestDates, "is the time of the request", "are the time of the request"),
      ]
      sentences.append(
        "\(list): \(plausible == 0 ? "none" : "only \(plausible)") of \(dates) lastmods are plausible: "
          + reasons.filter { !$0.hasPrefix("0 ") }.joined(separator: ", ")
      )
    }
    if sitemapPages == .ignored, entries == 0, pages > 0 {
      sentences.append(
        "\(list): no images in its \(counted(pages, "location", "locations")): no image:loc, and no loc with an image extension"
      )
    } else if sitemapPages == .undecided, entries > 0, pages > 0 {
      sentences.append(
        "\(list): \(counted(pages, "entry names no image, so its page wasn't", "entries name no image, so their pages weren't")) read; "
          + "set pages: true to read such pages, or pages: false to ignore them"
      )
    } else if entries == 0, items > 0 {
      sentences.append(
        "\(list): no images in its \(counted(items, "item", "items")): no image_link, and no enclosure or media:content of an image"
      )
    } else if entries == 0, tooOld > 0 {
      sentences.append("\(list): no entries are newer than newer-than")
    } else if entries == 0, otherRequests > 0 {
      sentences.append(
        "\(list): no successful GET of an image extension in its \(counted(otherRequests, "request", "requests")); "
          + "if images have no extension, select them with include"
      )
    }
    return sentences
  }

  private func counted(_ count: Int, _ one: String, _ many: String) -> String { "\(count) \(count == 1 ? one : many)" }
}

/// The progress of reading, and the number of entries to expect from it.
struct ReadingProgress {
  private(set) var entries = 0
  /// The size of each file in bytes; nil for a stream, whose length is unknown.
  private var sizes: [UInt64?] = []
  private var finishedBytes = 0.0
  private var totalBytes = 0.0
  private var unfinishedStreams = 0

  mutating func addFile(bytes: UInt64) {
    sizes.append(bytes)
    totalBytes += Double(bytes)
  }

  mutating func addStream() {
    sizes.append(nil)
    unfinishedStreams += 1
  }

  mutating func countEntries(_ count: Int = 1) { entries += count }

  mutating func finishFile(at index: Int) {
    if let size = sizes[index] { finishedBytes += Double(size) } else { unfinishedStreams -= 1 }
  }

  /// Extrapolates the entries so far to the remaining bytes; nil if nothing was read yet or a stream hasn't ended.
  func expectedEntries(consumedInCurrent consumed: UInt64) -> Int? {
    let consumed = finishedBytes + Double(consumed)
    guard unfinishedStreams == 0, consumed > 0 else { return nil }
    let rest = Double(entries) * max(0, totalBytes - consumed) / consumed
    return entries + Int(min(rest, Self.maximumEstimate))
  }

  /// More entries than any run has; sparse files may have any length.
  private static let maximumEstimate = 1e15
}

/// Lists, sitemaps of indexes, pages and web app manifests that couldn't be read, or not to their end.
struct LostLists {
  private static let maximumWarnings = 100

  private var first: ListError?
  private var count = 0

  /// Counts one more, and returns its warning if it is one of the first.
  mutating func add(_ error: ListError) -> String? {
    first = first ?? error
    count += 1
    return count <= Self.maximumWarnings ? error.description : nil
  }

  /// The error to throw at the end.
  var error: ListError? {
    guard let first, count > 1 else { return first }
    let message = "\(first.message) (\(count - 1) more couldn't be read; see the warnings)"
    return ListError(manifest: first.manifest, line: first.line, message: message)
  }

  /// The warning about pages without their own; nil if there is none.
  var rest: String? {
    let rest = count - Self.maximumWarnings
    return rest > 0 ? "\(rest) more \(rest == 1 ? "page" : "pages") couldn't be read" : nil
  }
}
