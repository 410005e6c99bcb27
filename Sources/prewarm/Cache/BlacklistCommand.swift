import ArgumentParser
import ImageCaching
import ImagePrimitives
import Reports

/// `prewarm blacklist`: looks at what is known to be bad, and forgets it.
struct BlacklistCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "blacklist",
    abstract: "Look at URLs that are known to be bad, or forget them.",
    subcommands: [List.self, Remove.self, Clear.self]
  )

  func run() throws {
    throw CommandError(.misused, "name what to do with the blacklist: list, remove or clear")
  }

  /// `prewarm blacklist list`.
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the blacklist: why, how often, when last, until when, URL."
    )

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(.readOnly).cache
      var last: CacheKey?
      while true {
        let page = try withCacheErrors { () throws(CacheError) in try cache.blacklist(after: last, limit: 1000) }
        guard let end = page.last else { return }
        last = end.key
        for record in page {
          if options.json { try printJSON(record.json) } else { try printData(Self.line(record)) }
        }
      }
    }

    private static func line(_ record: BlacklistRecord) -> String {
      let head = record.head
      let why = head.status.map { "\(head.kind.name) \($0)" } ?? head.kind.name
      let until = head.expiresAt.map { "until \($0.shortText)" } ?? "for ever"
      let cells = [why.padded(to: 16), "\(head.count) x".padded(to: 5), "last \(head.lastAt.shortText)", until]
      return (cells + [escapedForTerminal(String(decoding: record.shownURL, as: UTF8.self))]).joined(separator: "  ") + "\n"
    }
  }

  /// `prewarm blacklist remove`.
  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Take URLs off the blacklist.",
      discussion: "Ends with 1 where one of them is not on it; the others are taken off."
    )

    @Argument(help: "The URLs.")
    var urls: [String]

    @OptionGroup var options: CacheOptions

    func run() throws {
      try removeEach(urls, options, missing: "not on the blacklist") { cache, identities throws(CacheError) in
        try identities.map { identities throws(CacheError) in
          var isRemoved = false
          for identity in identities {
            let isOn = try identity.withRawBytes { bytes throws(CacheError) in try cache.removeFromBlacklist(identity: bytes) }
            if isOn { isRemoved = true }
          }
          return Removed(isRemoved: isRemoved)
        }
      }
    }
  }

  /// `prewarm blacklist clear`.
  struct Clear: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "clear", abstract: "Take everything off the blacklist.")

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(.readWrite).cache
      let count = try withCacheErrors { () throws(CacheError) in try cache.clearBlacklist() }
      if options.json { return try printJSON(["removed": count]) }
      try printData("\(counted(UInt64(count), "URL")) taken off the blacklist\n")
    }
  }
}

extension BlacklistRecord {
  /// The record as `--json` prints it.
  var json: JSONTree {
    .sorted([
      "url": String(decoding: shownURL, as: UTF8.self),
      "kind": head.kind.name,
      "status": head.status,
      "first_at": head.firstAt.iso8601,
      "last_at": head.lastAt.iso8601,
      "count": head.count,
      "expires_at": head.expiresAt?.iso8601,
    ])
  }
}
