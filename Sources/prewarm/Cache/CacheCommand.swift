import ArgumentParser
import Glibc
import ImageCaching
import ImageManaging
import Base
import Reports
import Jobs

/// `prewarm cache`: shows, changes, exports and imports a cache.
struct CacheCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Show, change, export and import a cache",
    subcommands: [
      Stats.self, List.self, Get.self, Remove.self, Trim.self, Clear.self, Verify.self, Compact.self, Export.self, Import.self,
    ]
  )

  func run() throws {
    let words = "stats, list, get, remove, trim, clear, verify, compact, export or import"
    throw CommandError(.misused, "prewarm cache needs a command: \(words)")
  }
}

/// The cache that a command uses.
struct CacheOptions: ParsableArguments {
  @Option(
    name: [.long, .customLong("directory")],
    help: ArgumentHelp("Use the caches in this folder (default: ~/.cache/prewarm)", valueName: "folder"),
    completion: .directory
  )
  var cacheDirectory: String?

  @Option(help: ArgumentHelp("Use this namespace of the cache (default: default)", valueName: "name"))
  var namespace: String?

  @Option(
    help: ArgumentHelp("Use the cache and the rules of this job file", valueName: "job.yaml"),
    completion: .file(extensions: ["yaml", "yml"])
  )
  var job: String?

  @Flag(help: "Print JSON: an object, or one object per line for lists")
  var json = false

  /// Opens the cache; an error ends the command.
  ///
  /// - Parameters:
  ///   - further: overrides of other options.
  ///   - isMade: whether to create a missing cache; by default a missing cache is an error, because the folder may be wrong.
  func open(_ access: ImageCache.Access, _ further: [JobOverride] = [], isMade: Bool = false) throws -> OpenedCache {
    let loaded = try load(further)
    if access == .readWrite, !isMade { _ = try loaded.openCache(access: .readOnly) }
    return OpenedCache(cache: try loaded.openCache(access: access), job: loaded)
  }

  /// Opens the cache for reading; returns nil for a missing one, and the job.
  func openIfThere() throws -> (cache: ImageCache?, job: Job) {
    let loaded = try load([])
    do throws(CacheError) {
      return (try loaded.openCache(access: .readOnly), loaded)
    } catch {
      if case .missing = error { return (nil, loaded) }
      throw error
    }
  }

  /// The namespaces to choose from; nil if an option or a job names one, or if there is only the default one.
  func choices() throws -> (job: Job, namespaces: [String])? {
    guard namespace == nil, job == nil else { return nil }
    let loaded = try load([])
    let names = try ImageCache.namespaces(in: loaded.cache.disk.directory)
    return names.isEmpty || names == [loaded.cache.disk.namespace] ? nil : (loaded, names)
  }

  private func load(_ further: [JobOverride]) throws -> Job {
    var overrides = further
    if let cacheDirectory {
      overrides.append(JobOverride(path: "cache.directory", text: cacheDirectory, origin: "--cache-directory"))
    }
    if let namespace { overrides.append(JobOverride(path: "cache.namespace", text: namespace, origin: "--namespace")) }
    let environment = JobLoading.environment()
    do throws(JobFileErrors) {
      return if let job {
        try JobFile.load(path: job, overrides: overrides, environment: environment)
      } else {
        try JobFile.make(name: "cache", manifests: [], overrides: overrides, environment: environment)
      }
    } catch {
      throw JobLoading.failure(error, Display(color: .never))
    }
  }
}

/// A cache with the job whose rules apply.
struct OpenedCache {
  let cache: ImageCache
  var job: Job

  /// The identities of the images that the job fetches for a URL: one, or one per variant and edge.
  func identities(of url: String) throws -> [[UInt8]] {
    do {
      return try job.identities(of: url, in: cache)
    } catch {
      throw CommandError(.misused, "\(named(url)): \(error.message)")
    }
  }
}

/// Calls `body` with all records of a cache in pages, each of which follows the record that `page` gets.
func forEachPage<Record>(_ page: (Record?) throws -> [Record], _ body: ([Record]) throws -> Void) rethrows {
  var records = try page(nil)
  while let last = records.last {
    try body(records)
    records = try page(last)
  }
}
