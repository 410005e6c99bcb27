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
        "\(manifest): \(counted(malformedLines.count, "line is", "lines are")) not in the combined or common log format, "
          + "the first is line \(first.line): “\(first.text)”"
      )
    }
    if let first = unreadableDates.first {
      sentences.append(
        "\(manifest): \(counted(unreadableDates.count, "lastmod", "lastmods")) cannot be read, so that newer-than did not count "
          + "there, the first is in line \(first.line): “\(first.text)”"
      )
    }
    if entries == 0, pages > 0 {
      sentences.append(
        "\(manifest): none of its \(counted(pages, "location", "locations")) names an image: there is no image:loc, and no loc that "
          + "ends like an image; if they are images, say so by include: [\"*\"]"
      )
    } else if entries == 0, tooOld > 0 {
      sentences.append("\(manifest): nothing in it is newer than newer-than says")
    } else if entries == 0, otherRequests > 0 {
      sentences.append(
        "\(manifest): none of its \(counted(otherRequests, "request", "requests")) is a good GET for an image by its extension; "
          + "if images have none, say so by include"
      )
    }
    return sentences
  }

  private func counted(_ count: Int, _ one: String, _ many: String) -> String { "\(count) \(count == 1 ? one : many)" }
}

/// How far reading has come, and how many entries that makes likely in all.
struct ReadingProgress {
  private(set) var entries = 0
  /// Bytes of each file; nil for a stream, whose end nobody knows.
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

  /// Entries so far, and as many for each byte that is left; nil if nothing was read yet or a stream has not ended.
  func expectedEntries(consumedInCurrent consumed: UInt64) -> Int? {
    let consumed = finishedBytes + consumed
    guard unfinishedStreams == 0, consumed > 0 else { return nil }
    return entries + Int(Double(entries) * Double(totalBytes - min(consumed, totalBytes)) / Double(consumed))
  }
}
