/// What a manifest's readers noticed that is no entry: told once a manifest, not once a line.
struct ReadingRemarks {
  /// Lines or elements of one kind: how many, and the first of them.
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

  /// Entries that were taken.
  var entries = 0
  /// Sitemaps: pages without an image.
  var pages = 0
  /// Sitemaps: entries of which `lastmod` is too old, and sitemaps of an index.
  var tooOld = 0
  /// Sitemaps: dates that cannot be read.
  var unreadableDates = Oddity()
  /// Access logs: requests that are no entries.
  var otherRequests = 0
  /// Access logs: lines of another form.
  var malformedLines = Oddity()

  mutating func add(_ other: ReadingRemarks) {
    entries += other.entries
    pages += other.pages
    tooOld += other.tooOld
    unreadableDates.add(other.unreadableDates)
    otherRequests += other.otherRequests
    malformedLines.add(other.malformedLines)
  }

  /// What is worth a warning, a sentence each.
  func warnings(of manifest: String) -> [String] {
    var sentences: [String] = []
    if let first = malformedLines.first {
      sentences.append(
        "\(manifest): \(counted(malformedLines.count, "line isn't", "lines aren't")) in the combined or common log format; "
          + "the first is line \(first.line): '\(first.text)'"
      )
    }
    if let first = unreadableDates.first {
      sentences.append(
        "\(manifest): newer-than ignored \(counted(unreadableDates.count, "unreadable lastmod", "unreadable lastmods")); "
          + "the first is in line \(first.line): '\(first.text)'"
      )
    }
    if entries == 0, pages > 0 {
      sentences.append(
        "\(manifest): no images in its \(counted(pages, "location", "locations")): no image:loc, and no loc with an image extension; "
          + "if they are images, set include: [\"*\"]"
      )
    } else if entries == 0, tooOld > 0 {
      sentences.append("\(manifest): no entries are newer than newer-than")
    } else if entries == 0, otherRequests > 0 {
      sentences.append(
        "\(manifest): no successful GET of an image extension in its \(counted(otherRequests, "request", "requests")); "
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
  private var finishedBytes: UInt64 = 0
  private var totalBytes: UInt64 = 0
  private var unfinishedStreams = 0

  mutating func addFile(bytes: UInt64) {
    sizes.append(bytes)
    totalBytes += bytes
  }

  mutating func addStream() {
    sizes.append(nil)
    unfinishedStreams += 1
  }

  mutating func countEntries(_ count: Int = 1) { entries += count }

  mutating func finishFile(at index: Int) {
    if let size = sizes[index] { finishedBytes += size } else { unfinishedStreams -= 1 }
  }

  /// Extrapolates the entries so far to the remaining bytes; nil if nothing was read yet or a stream hasn't ended.
  func expectedEntries(consumedInCurrent consumed: UInt64) -> Int? {
    let consumed = finishedBytes + consumed
    guard unfinishedStreams == 0, consumed > 0 else { return nil }
    return entries + Int(Double(entries) * Double(totalBytes - min(consumed, totalBytes)) / Double(consumed))
  }
}
