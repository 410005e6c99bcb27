import ArgumentParser
import ImageCaching
import Base
import Reports

/// `prewarm blacklist`: shows and changes the blacklist.
struct BlacklistCommand: GroupCommand {
  static let configuration = CommandConfiguration(
    commandName: "blacklist",
    abstract: "Show and change the blacklist of bad URLs",
    subcommands: [List.self, Remove.self, Clear.self]
  )

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
      try options.printAll({ try cache.blacklist(after: $0, limit: 1000) }, json: \.json, Self.line)
    }

    private static func line(_ record: BlacklistRecord) -> String {
      let count = "\(grouped(UInt64(record.head.count))) x"
      let cells = [record.why.padded(to: 16), count.padded(to: 5), "last \(record.head.lastAt.shortText)", record.until]
      return (cells + [escapedForTerminal(String(decoding: record.shownURL, as: UTF8.self))]).joined(separator: "  ")
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
      try options.print(["removed": count], "\(counted(count, "URL")) removed from the blacklist")
    }
  }
}

extension BlacklistRecord {
  /// The kind of failure, with the HTTP status if there is one.
  var why: String { head.status.map { "\(head.kind.name) \($0)" } ?? head.kind.name }

  var until: String {
    head.isExpired(at: TimeSource.system.wall()) ? "expired" : head.expiresAt.map { "until \($0.shortText)" } ?? "permanent"
  }

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
