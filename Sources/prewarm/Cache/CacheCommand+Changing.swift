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

    @Option(help: ArgumentHelp("Remove entries older than this (default: 7d)", valueName: "duration"))
    var maxAge: String?

    @Option(help: ArgumentHelp("Limit the size of bodies, such as 2GiB (default: none)", valueName: "size"))
    var maxSize: String?

    @Option(help: ArgumentHelp("Trim to this part of the limit (default: 50%)", valueName: "part"))
    var trimTo: String?

    func run() throws {
      let overrides = JobOverride.options([
        ("--max-age", "cache.max-age", maxAge), ("--max-size", "cache.max-size", maxSize), ("--trim-to", "cache.trim-to", trimTo),
      ])
      let cache = try options.open(.readWrite, overrides).cache
      let (removed, left) = (try cache.trim(), try cache.totals())
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
      if options.json { return try printJSON(["removed_entries": before.entries, "removed_bytes": before.bodyBytes]) }
      try printData(
        "\(counted(UInt64(before.entries), "entry", plural: "entries")), \(byteCount(Double(before.bodyBytes))) removed\n"
      )
    }
  }
}

/// The entries removed for a URL.
struct Removed {
  /// Whether the image itself was cached.
  let isRemoved: Bool
  /// How many resized copies were removed; nil where there are no copies.
  var transformed: Int?

  /// Whether anything was removed.
  var isAny: Bool { isRemoved || transformed ?? 0 > 0 }

  /// The result as text.
  fileprivate func sentence(_ url: String) -> String {
    guard let transformed, transformed > 0 else { return "removed \(url)" }
    let images = counted(UInt64(transformed), "resized image")
    return isRemoved ? "removed \(url) and \(images) of it" : "removed \(images) of \(url)"
  }
}

/// Removes URLs, with all variants and edges of the job, and prints each; exits with 1 if one wasn't found.
///
/// - Parameters:
///   - missing: the message for a URL that wasn't found.
///   - remove: removes the identities of each URL, and returns what it removed for each.
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
