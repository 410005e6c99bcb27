import ArgumentParser
import ImageCaching
import Base
import Reports
import Jobs

extension CacheCommand {
  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove images and their resized copies from the cache",
      discussion: """
        With --job, all variants and edges of the job are removed. Exits with 1 if a URL isn't cached; the others are removed.

        EXAMPLES:
          prewarm cache remove https://img.example.com/a.jpg
          prewarm cache remove --job a.yaml https://example.com/a
        """
    )

    @Argument(help: ArgumentHelp("Remove the images of these URLs", valueName: "url"))
    var urls: [String]

    @OptionGroup var options: CacheOptions

    func run() throws {
      try removeEach(urls, options, missing: "not in the cache") { cache, identities in
        let transformed = try cache.transformedEntries(of: Set(identities.joined()))
        return try cache.write { writer throws(CacheError) in
          var removed: [Removed] = []
          for identities in identities {
            var (isRemoved, count) = (false, 0)
            for identity in identities {
              if try Self.remove(identity, with: writer) { isRemoved = true }
              for record in transformed[identity] ?? [] where try Self.remove(record.identity, with: writer) { count += 1 }
            }
            removed.append(Removed(isRemoved: isRemoved, transformed: count))
          }
          return removed
        }
      }
    }

    private static func remove(_ identity: [UInt8], with writer: borrowing CacheWriter) throws(CacheError) -> Bool {
      try writer.remove(CacheKey(identity: identity), identity: identity)
    }
  }

  struct Trim: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "trim",
      abstract: "Remove expired entries, then the oldest beyond the size limit",
      discussion: """
        Options override the job file, which overrides the defaults.

        EXAMPLES:
          prewarm cache trim --max-age 30d
          prewarm cache trim --max-size 2GiB --trim-to 80%
          prewarm cache trim --job homepage.yaml
        """
    )

    @OptionGroup(title: "Cache")
    var options: CacheOptions

    @Option(key: "cache.max-age", "Remove entries older than this (default: 7d)", "duration")
    var maxAge: JobOverride?

    @Option(key: "cache.max-size", "Limit the size of bodies, such as 2GiB (default: none)", "size")
    var maxSize: JobOverride?

    @Option(key: "cache.trim-to", "Trim to this part of the limit (default: 50%)", "part")
    var trimTo: JobOverride?

    func run() throws {
      let cache = try options.open(.readWrite, [maxAge, maxSize, trimTo].compactMap(\.self)).cache
      let (removed, left) = (try cache.trim(), try cache.totals())
      try options.print(
        [
          "expired_entries": removed.expired, "trimmed_entries": removed.trimmed, "removed_bytes": removed.bytesRemoved,
          "entries": left.entries, "body_bytes": left.bodyBytes,
        ],
        "\(grouped(removed.expired)) expired and \(grouped(removed.trimmed)) trimmed, \(byteCount(removed.bytesRemoved)) removed; "
          + "\(counted(left.entries, "entry", plural: "entries")), \(byteCount(left.bodyBytes)) left"
      )
    }
  }

  struct Clear: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "clear",
      abstract: "Remove images and copies of lists of a namespace; keep the blacklist",
      discussion: """
        Requires exclusive access: exits with 1 and names the processes if others use the cache.

        EXAMPLES:
          prewarm cache clear
          prewarm cache clear --namespace thumbnails
        """
    )

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(.readWrite).cache
      let before = try cache.clear()
      removeListCopies(of: cache)
      let removed = "\(counted(before.entries, "entry", plural: "entries")), \(byteCount(before.bodyBytes)) removed"
      try options.print(["removed_entries": before.entries, "removed_bytes": before.bodyBytes], removed)
    }
  }

  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Verify the checksum of every image; remove damaged ones",
      discussion: """
        Other processes may use the cache meanwhile. The next run downloads removed images again. Exits with 1 if an image is damaged, and \
        prints its URL to standard error.

        EXAMPLES:
          prewarm cache verify
          prewarm cache verify --keep
        """
    )

    @Flag(help: "Report damaged images without removing them")
    var keep = false

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(keep ? .readOnly : .readWrite).cache
      let result = try cache.verify(repair: !keep) { record, damage in
        Note.error("damaged: \(String(decoding: record.shownURL, as: UTF8.self)) (\(damage.phrase))")
      }
      try options.print(
        [
          "entries": result.entries, "body_bytes": result.bytes, "damaged_entries": result.damaged,
          "removed_entries": result.removed, "removed_files": result.sweptBlobs,
        ],
        sentence(result)
      )
      if result.damaged > 0 { throw ExitCode(ExitStatus.couldNotFinish.rawValue) }
    }

    private func sentence(_ result: VerifyResult) -> String {
      let damaged = result.damaged > 0 ? "; \(grouped(result.damaged)) damaged, \(grouped(result.removed)) removed" : ""
      let good = "\(counted(result.entries - result.damaged, "image")) good, \(byteCount(result.bytes))"
      return clauses(good + damaged, [(result.sweptBlobs, "unused file", "removed")])
    }
  }

  struct Compact: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "compact",
      abstract: "Compact the cache index to reclaim disk space",
      discussion: """
        Requires exclusive access: exits with 1 and names the processes if others use the cache.

        EXAMPLES:
          prewarm cache compact
        """
    )

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(.readWrite).cache
      let before = try cache.diskBytes()
      try cache.compact()
      let after = try cache.diskBytes()
      let sentence = "\(byteCount(max(0, before - after))) reclaimed, \(byteCount(after)) on disk"
      try options.print(["disk_bytes_before": before, "disk_bytes": after], sentence)
    }
  }
}

struct Removed {
  /// Whether the image itself was cached.
  let isRemoved: Bool
  /// How many resized copies were removed; nil where there are no copies.
  var transformed: Int?

  var isAny: Bool { isRemoved || transformed ?? 0 > 0 }

  fileprivate func sentence(_ url: String) -> String {
    guard let transformed, transformed > 0 else { return "removed \(url)" }
    let images = counted(transformed, "resized image")
    return isRemoved ? "removed \(url) and \(images) of it" : "removed \(images) of \(url)"
  }
}

/// Removes the identities of URLs, with all variants and edges of the job, and prints each; exits with 1 if one wasn't found,
/// with the message `missing`.
func removeEach(
  _ urls: [String],
  _ options: CacheOptions,
  missing: String,
  _ remove: (ImageCache, [[[UInt8]]]) throws -> [Removed]
) throws {
  let opened = try options.open(.readWrite)
  let identities = try urls.map { try opened.identities(of: $0) }
  let removed = try remove(opened.cache, identities)
  for (url, removed) in zip(urls, removed) {
    if options.json {
      try printJSON(["url": shown(url), "removed": removed.isAny, "transformed": removed.transformed])
    } else if removed.isAny {
      try printData("\(removed.sentence(escapedForTerminal(shown(url))))\n")
    }
    if !removed.isAny { Note.error("\(missing): \(named(url))") }
  }
  guard removed.allSatisfy(\.isAny) else { throw ExitCode(ExitStatus.couldNotFinish.rawValue) }
}

extension CachedBody.Damage {
  var phrase: String {
    switch self {
    case .missing: "its file is missing"
    case .wrongSize: "its length differs from the stored one"
    case .wrongChecksum: "its checksum differs from the stored one"
    }
  }
}
