import ArgumentParser
import ImageCaching
import ImagePrimitives
import ImageURLs
import Reports
import WarmJobs

extension CacheCommand {
  /// `prewarm cache remove`.
  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove images from the cache, and all that jobs with transform made of them.",
      discussion: """
        With --job and a job that has variants or edges, all of those are removed. Ends with 1 where one of the URLs is not cached; \
        the others are removed. To find what was made of them, all records are read.
        """
    )

    @Argument(help: "The images' URLs.")
    var urls: [String]

    @OptionGroup var options: CacheOptions

    func run() throws {
      try removeEach(urls, options, missing: "not in the cache") { cache, identities throws(CacheError) in
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
      try identity.withRawBytes { bytes throws(CacheError) in
        try writer.remove(CacheKey(identity: bytes), identity: bytes)
      }
    }
  }

  /// `prewarm cache trim`.
  struct Trim: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "trim",
      abstract: "Remove what has expired, then the oldest beyond the size limit.",
      discussion: "The rules are those of the job file, or the defaults, with the options above them."
    )

    @OptionGroup var options: CacheOptions

    @Option(help: ArgumentHelp("cache.max-age, such as 7d.", valueName: "duration"))
    var maxAge: String?

    @Option(help: ArgumentHelp("cache.max-size, such as 2GiB.", valueName: "size"))
    var maxSize: String?

    @Option(help: ArgumentHelp("cache.trim-to, such as 50%.", valueName: "part"))
    var trimTo: String?

    func run() throws {
      let rules = [
        ("--max-age", "cache.max-age", maxAge), ("--max-size", "cache.max-size", maxSize), ("--trim-to", "cache.trim-to", trimTo),
      ]
      let overrides = rules.compactMap { option, key, value in
        value.map { JobOverride(path: key, value: $0, origin: option) }
      }
      let cache = try options.open(.readWrite, overrides).cache
      let (removed, left) = try withCacheErrors { () throws(CacheError) in (try cache.trim(), try cache.totals()) }
      if options.json {
        return try printJSON([
          "expired_entries": removed.expired,
          "trimmed_entries": removed.trimmed,
          "removed_bytes": removed.bytesRemoved,
          "entries": left.entries,
          "body_bytes": left.bodyBytes,
        ])
      }
      try printData(
        """
        \(grouped(UInt64(removed.expired))) expired and \(grouped(UInt64(removed.trimmed))) trimmed, \
        \(byteCount(Double(removed.bytesRemoved))) removed; \
        \(counted(UInt64(left.entries), "entry", plural: "entries")), \(byteCount(Double(left.bodyBytes))) left

        """
      )
    }
  }

  /// `prewarm cache clear`.
  struct Clear: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "clear",
      abstract: "Remove all images of a namespace and give their space back; the blacklist stays.",
      discussion: "Needs the cache alone: ends with 1, and says who has it open, where another process uses it."
    )

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(.readWrite).cache
      let before = try withCacheErrors { () throws(CacheError) in try cache.clear() }
      if options.json { return try printJSON(["removed_entries": before.entries, "removed_bytes": before.bodyBytes]) }
      try printData(
        "\(counted(UInt64(before.entries), "entry", plural: "entries")), \(byteCount(Double(before.bodyBytes))) removed\n"
      )
    }
  }
}

/// What was removed of a URL.
struct Removed {
  /// Whether what is known by its identity was there.
  let isRemoved: Bool
  /// Images that were made of it, removed with it; nil if there can be none.
  var transformed: Int?

  /// Whether there was anything to be removed.
  var isAny: Bool { isRemoved || transformed ?? 0 > 0 }

  /// For a person.
  fileprivate func sentence(_ url: String) -> String {
    guard let transformed, transformed > 0 else { return "removed \(url)" }
    let images = counted(UInt64(transformed), "transformed image")
    return isRemoved ? "removed \(url) and \(images) of it" : "removed \(images) of \(url)"
  }
}

/// Removes URLs, with all variants and edges of the job, from what the options name and prints each; exits with 1 if one was not there.
///
/// - Parameters:
///   - missing: what is said of a URL that is not there.
///   - remove: removes what is known by the identities of each URL; says of each what that was.
func removeEach(
  _ urls: [String],
  _ options: CacheOptions,
  missing: String,
  _ remove: (ImageCache, [[[UInt8]]]) throws(CacheError) -> [Removed]
) throws {
  let opened = try options.open(.readWrite)
  let identities = try urls.map { try opened.identities(of: $0) }
  let removed = try withCacheErrors { () throws(CacheError) in try remove(opened.cache, identities) }
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
