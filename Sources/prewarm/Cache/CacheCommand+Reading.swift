import ArgumentParser
import Glibc
import ImageCaching
import Base
import Reports
import Jobs

extension CacheCommand {
  struct Stats: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "stats",
      abstract: "Show the size of the cache and how long it is fresh",
      discussion: """
        Without --namespace and --job, lists all namespaces if there are several.

        EXAMPLES:
          prewarm cache stats
          prewarm cache stats --job homepage.yaml
        """
    )

    @OptionGroup var options: CacheOptions

    func run() throws {
      guard let (job, names) = try options.choices() else {
        let figures = try Figures(of: try options.open(.readOnly).cache)
        return try options.json ? printJSON(try figures.json()) : printData(try figures.text())
      }
      if !options.json { try printData("cache      \(escapedForTerminal(job.cache.disk.directory))\n\n\(Figures.columnNames)\n") }
      var isAllRead = true
      for name in names {
        var job = job
        job.cache.disk.namespace = name
        do {
          let figures = try Figures(of: try job.openCache(access: .readOnly))
          try options.json ? printJSON(try figures.json()) : printData("\(figures.row)\n")
        } catch let error as CacheError {
          Note.error(error.jobSentence)
          isAllRead = false
        }
      }
      if !isAllRead { throw ExitCode(ExitStatus.couldNotFinish.rawValue) }
    }

    /// How many images are fresh, and until when.
    private struct Freshness {
      var fresh: UInt64 = 0
      var expired: UInt64 = 0
      /// How many of the expired ones were stored while the clock was wrong.
      var fromFuture: UInt64 = 0
      /// When the first fresh image expires; nil if none of them does.
      var until: Timestamp?

      mutating func add(_ record: EntryRecord, now: Timestamp) {
        let end = record.expiresAt
        if record.isFromFuture { fromFuture += 1 }
        if record.isFromFuture || end.map({ $0 <= now }) ?? false {
          expired += 1
        } else {
          fresh += 1
          if let end { until = min(until ?? end, end) }
        }
      }

      /// `all until 2026-11-30 09:15 UTC`, `10 until 2026-11-30 09:15 UTC, 4 expired` or `none, 14 expired`.
      var phrase: String {
        let number = expired == 0 ? "all" : fresh == 0 ? "none" : grouped(fresh)
        let end = fresh == 0 ? "" : until.map { " until \($0.shortText)" } ?? " permanently"
        let reason = fromFuture > 0 ? " (\(grouped(fromFuture)) stored in the future, while the clock was wrong)" : ""
        return number + end + (expired > 0 ? ", \(grouped(expired)) expired\(reason)" : "")
      }
    }

    private struct Figures {
      private let cache: ImageCache
      private let totals: CacheTotals
      private let diskBytes: Int

      static let columnNames =
        "namespace".padded(to: 20) + ["entries", "bodies", "on disk", "blacklist"].map { $0.rightAligned(to: 12) }.joined()

      init(of cache: ImageCache) throws(CacheError) {
        self.cache = cache
        totals = try cache.totals()
        diskBytes = try cache.diskBytes()
      }

      func json() throws -> JSONTree {
        let freshness = try freshness()
        return .sorted([
          "directory": cache.configuration.directory,
          "namespace": cache.configuration.namespace,
          "entries": totals.entries,
          "body_bytes": totals.bodyBytes,
          "disk_bytes": diskBytes,
          "max_bytes": cache.configuration.maxBodyBytes,
          "sufficient_max_bytes": try cache.sufficientSize(),
          "fresh_until": freshness.until?.iso8601,
          "expired_entries": freshness.expired,
          "blacklist_entries": totals.blacklistEntries,
        ])
      }

      func text() throws -> String {
        let limit = cache.configuration.maxBodyBytes.map { " of \(byteCount($0))" } ?? ""
        var lines = [
          "cache      \(escapedForTerminal(cache.path))",
          "entries    \(grouped(totals.entries))",
          "bodies     \(byteCount(totals.bodyBytes))\(limit)",
          "on disk    \(byteCount(diskBytes))",
        ]
        if let enough = try cache.sufficientSize() {
          lines.append(
            "max-size   the last run evicted its own images; \(sizeAbove(UInt64(clamping: enough))) would have been enough"
          )
        }
        if totals.entries > 0 { lines.append("fresh      \(try freshness().phrase)") }
        lines.append("blacklist  \(counted(totals.blacklistEntries, "URL"))")
        return lines.map { "\($0)\n" }.joined()
      }

      /// Reads all records, since each image may have a lifetime of its own.
      private func freshness() throws -> Freshness {
        var freshness = Freshness()
        let now = TimeSource.system.wall()
        try forEachPage({ try cache.entries(after: $0, limit: 1000) }) { page in
          for record in page { freshness.add(record, now: now) }
        }
        return freshness
      }

      var row: String {
        let cells = [
          grouped(totals.entries), byteCount(totals.bodyBytes), byteCount(diskBytes), grouped(totals.blacklistEntries),
        ]
        return escapedForTerminal(cache.configuration.namespace).padded(to: 20) + cells.map { $0.rightAligned(to: 12) }.joined()
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List cached images with time, size and format",
      discussion: """
        EXAMPLES:
          prewarm cache list
          prewarm cache list --job homepage.yaml --json
        """
    )

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(.readOnly).cache
      try options.printAll({ try cache.entries(after: $0, limit: 1000) }, json: \.json, \.line)
    }
  }

  struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "get",
      abstract: "Write a cached image to standard output",
      discussion: """
        With --job, it is the image as that job resizes it; of several variants and edges, the first that is cached. Expired images \
        are written too. With --json it prints the image's record instead. Exits with 1 if the URL isn't cached or the image is damaged.

        EXAMPLES:
          prewarm cache get https://img.example.com/a.jpg > a.jpg
          prewarm cache get https://img.example.com/a.jpg --json
        """
    )

    @Argument(help: "Get the image of this URL")
    var url: String

    @OptionGroup var options: CacheOptions

    func run() throws {
      let opened = try options.open(.readOnly)
      let cache = opened.cache
      let originals = try opened.identities(of: url)
      var found: (EntryRecord, CachedBody?)?
      for original in originals where found == nil {
        found = try find(opened.job.transformedIdentity(of: original) ?? original, in: cache)
      }
      guard let (record, body) = found else {
        throw try missing(originals, isAsItCame: opened.job.transform == nil, in: cache)
      }
      if options.json { return try printJSON(record.json) }
      guard case .bytes(let bytes) = body else {
        let advice = "remove it with prewarm cache remove, and the next run downloads it"
        throw CommandError(.couldNotFinish, "the cached copy of \(named(url)) is damaged; \(advice)")
      }
      guard writeAll(bytes, to: STDOUT_FILENO) else { throw outputError(errno) }
    }

    /// The record of an identity, and its body unless `--json` is given; nil if it isn't cached.
    private func find(_ identity: [UInt8], in cache: ImageCache) throws -> (EntryRecord, CachedBody?)? {
      guard let record = try cache.entry(identity: identity) else { return nil }
      return (record, options.json ? nil : try cache.body(of: record.key, identity: identity, as: record.head))
    }

    /// The error for an image that isn't cached; it names the resized copies that are.
    private func missing(_ originals: [[UInt8]], isAsItCame: Bool, in cache: ImageCache) throws -> CommandError {
      let transformed = try cache.transformedEntries(of: Set(originals)).values.flatMap(\.self)
      let names = Set(transformed.compactMap(\.transformKey)).map { String(decoding: $0, as: UTF8.self) }.sorted()
      var sentence = "not in the cache\(isAsItCame ? "" : " as this job resizes it"): \(named(url))"
      if !names.isEmpty {
        sentence += "; resized copies: \(names.joined(separator: ", "))"
        if isAsItCame { sentence += "; name their job with --job" }
      }
      return CommandError(.couldNotFinish, sentence)
    }
  }
}

extension EntryRecord {
  var json: JSONTree {
    func text(_ bytes: [UInt8]) -> String? { bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self) }
    return .sorted([
      "url": String(decoding: shownURL, as: UTF8.self),
      "key": hexadecimal(key.high) + hexadecimal(key.low),
      "stored_at": head.storedAt.iso8601,
      "expires_at": expiresAt?.iso8601,
      "bytes": head.bodySize,
      "format": head.image.format?.name,
      "width": head.image.width > 0 ? head.image.width : nil,
      "height": head.image.height > 0 ? head.image.height : nil,
      "frames": head.image.frames > 1 ? head.image.frames : nil,
      "profile": head.image.metadata.hasProfile ? true : nil,
      "orientation": head.image.metadata.orientation > 1 ? UInt16(head.image.metadata.orientation) : nil,
      "gps": head.image.metadata.hasPosition ? true : nil,
      "dpi": head.image.metadata.dpi > 0 ? head.image.metadata.dpi : nil,
      "transformed": isTransformed ? true : nil,
      "proof": head.proof.name,
      "status": head.status,
      "body_hash": hexadecimal(head.checksum.high) + hexadecimal(head.checksum.low),
      "content_type": contentType,
      // A resized image has no ETag of the server.
      "etag": isTransformed ? nil : etag,
      "last_modified": lastModified,
    ])
  }

  fileprivate var line: String {
    let size = head.image.width > 0 ? "\(head.image.width)x\(head.image.height)" : "-"
    let columns = [(head.storedAt.shortText, 20), (String(head.bodySize), 10), (head.image.format?.name ?? "-", 5), (size, 11)]
    let cells = columns.map { text, width in text.padded(to: width) }
    let url = escapedForTerminal(String(decoding: shownURL, as: UTF8.self)) + (isTransformed ? " (resized)" : "")
    return (cells + [url]).joined(separator: "  ")
  }
}
