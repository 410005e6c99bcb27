import ArgumentParser
import Reports

/// `prewarm cache`: looks at a cache and tidies it, and moves images into it and out of it.
struct CacheCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Look into a cache, take from it, add to it, tidy it.",
    subcommands: [
      Stats.self, List.self, Get.self, Remove.self, Trim.self, Clear.self, Verify.self, Compact.self, Export.self, Import.self,
    ]
  )

  func run() throws {
    let words = "stats, list, get, remove, trim, clear, verify, compact, export or import"
    throw CommandFailure(.misused, "name what to do with the cache: \(words)")
  }
}
