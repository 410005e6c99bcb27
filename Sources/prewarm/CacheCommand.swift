import ArgumentParser
import Reporting

/// `prewarm cache`: looks at a cache and tidies it.
struct CacheCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Look into a cache, take from it, tidy it.",
    subcommands: [Stats.self, List.self, Get.self, Remove.self, Trim.self, Clear.self]
  )

  func run() throws {
    throw CommandFailure(.misused, "name what to do with the cache: stats, list, get, remove, trim or clear")
  }
}
