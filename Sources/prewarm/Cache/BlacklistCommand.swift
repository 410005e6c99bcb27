import ArgumentParser
import ImageCaching
import Base
import Reports

/// `prewarm blacklist`: shows and changes the blacklist.
struct BlacklistCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "blacklist",
    abstract: "Show and change the blacklist of bad URLs",
    subcommands: [List.self, Remove.self, Clear.self]
  )

  func run() throws {
    throw CommandError(.misused, "prewarm blacklist needs a command: list, remove or clear")
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List blacklisted URLs with reason, count and times",
      discussion: """
        EXAMPLES:
          prewarm blacklist list
          prewarm blacklist list --job homepage.yaml --json
        """
    )

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(.readOnly).cache
      try forEachPage({ try cache.blacklist(after: $0, limit: 1000) }) { page in
        for record in page {
          if options.json { try printJSON(record.json) } else { try printData(Self.line(record)) }
        }
      }
    }

    private static func line(_ record: BlacklistRecord) -> String {
      let head = record.head
      let why = head.status.map { "\(head.kind.name) \($0)" } ?? head.kind.name
      let isExpired = head.isExpired(at: TimeSource.system.wall())
      let until = isExpired ? "expired" : head.expiresAt.map { "until \($0.shortText)" } ?? "permanent"
      let cells = [why.padded(to: 16), "\(grouped(UInt64(head.count))) x".padded(to: 5), "last \(head.lastAt.shortText)", until]
      return (cells + [escapedForTerminal(String(decoding: record.shownURL, as: UTF8.self))]).joined(separator: "  ") + "\n"
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove URLs from the blacklist",
      discussion: """
        The next run requests them again. Exits with 1 if a URL isn't on the blacklist; the others are removed.

        EXAMPLES:
          prewarm blacklist remove https://img.example.com/a.jpg
        """
    )

    @Argument(help: ArgumentHelp("Remove these URLs", valueName: "url"))
    var urls: [String]

    @OptionGroup var options: CacheOptions

    func run() throws {
      try removeEach(urls, options, missing: "not on the blacklist") { cache, identities in
        try identities.map { identities in
          let removed = try identities.map { try cache.removeFromBlacklist(identity: $0) }
          return Removed(isRemoved: removed.contains(true))
        }
      }
    }
  }

  struct Clear: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "clear",
      abstract: "Remove all URLs from the blacklist",
      discussion: """
        EXAMPLES:
          prewarm blacklist clear
          prewarm blacklist clear --namespace thumbnails
        """
    )

    @OptionGroup var options: CacheOptions

    func run() throws {
      let cache = try options.open(.readWrite).cache
      let count = try cache.clearBlacklist()
      if options.json { return try printJSON(["removed": count]) }
      try printData("\(counted(UInt64(count), "URL")) removed from the blacklist\n")
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
