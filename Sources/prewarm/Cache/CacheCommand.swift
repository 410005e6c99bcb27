import ArgumentParser
import Glibc
import ImageCaching
import ImageManaging
import Base
import Reports
import Jobs

/// `prewarm cache`: shows, changes, exports and imports a cache.
struct CacheCommand: GroupCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Show, change, export and import a cache",
    subcommands: [
      Stats.self, List.self, Get.self, Remove.self, Trim.self, Clear.self, Verify.self, Compact.self, Export.self, Import.self,
    ]
  )
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

  /// Opens the cache; a missing one is made if `isMade`. Otherwise it is an error, because the folder may be wrong.
  func open(_ access: ImageCache.Access, _ further: [JobOverride] = [], isMade: Bool = false) throws -> OpenedCache {
    let loaded = try load(further)
    if access == .readWrite, !isMade { _ = try loaded.openCache(access: .readOnly) }
    return OpenedCache(cache: try loaded.openCache(access: access), job: loaded)
  }

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
    let options = [("cache.directory", cacheDirectory, "--cache-directory"), ("cache.namespace", namespace, "--namespace")]
    // Its secrets may be unknown here.
    let overrides =
      [JobOverride(defaultOf: "notify")] + further
      + options.compactMap { path, text, option in text.map { JobOverride(path: path, text: $0, origin: option) } }
    return try JobLoading.load([job], Display(color: .never)) { job throws(JobFileErrors) in
      if let job { return try JobLoading.job(at: job, overrides) }
      return try JobFile.make(name: "cache", manifests: [], overrides: overrides, environment: JobLoading.environment)
    }[0]
  }

  /// Prints a result as an object of JSON, or as a line.
  func print(_ members: KeyValuePairs<String, (any JSONTreeConvertible)?>, _ line: String) throws {
    try json ? printJSON(members) : printData(line + "\n")
  }

  /// Prints all records of a cache, one per line; they come in pages, each of which follows the record that `page` gets.
  func printAll<Record>(_ page: (Record?) throws -> [Record], json object: (Record) -> JSONTree, _ line: (Record) -> String)
    throws
  {
    try forEachPage(page) { page in try printData(page.map { (json ? object($0).line : line($0)) + "\n" }.joined()) }
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
