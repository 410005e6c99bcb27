import ArgumentParser
import Glibc
import ImageCaching
import ImageManaging
import ImageURLs
import Reports
import WarmJobs

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
    throw CommandError(.misused, "name what to do with the cache: \(words)")
  }
}

/// Which cache a command is about.
struct CacheOptions: ParsableArguments {
  @Option(
    name: [.long, .customLong("directory")],
    help: ArgumentHelp("cache.directory; by default that of jobs that name none.", valueName: "folder"),
    completion: .directory
  )
  var cacheDirectory: String?

  @Option(help: ArgumentHelp("The namespace in it; by default 'default'.", valueName: "name"))
  var namespace: String?

  @Option(
    help: ArgumentHelp("The job file whose cache and rules are meant.", valueName: "job.yaml"),
    completion: .file(extensions: ["yaml", "yml"])
  )
  var job: String?

  @Flag(help: "Print JSON: an object, or for lists an object a line.")
  var json = false

  /// Opens the cache; every way in which that fails ends the command.
  ///
  /// - Parameters:
  ///   - further: what other options set over the job file.
  ///   - isMade: whether a cache is made where there is none; by default that is an error, since a wrong folder may have been named.
  func open(
    _ access: ImageCache.Access,
    _ further: [JobOverride] = [],
    isMade: Bool = false
  ) throws -> OpenedCache {
    let loaded = try load(further)
    return try withCacheErrors { () throws(CacheError) in
      if access == .readWrite, !isMade { _ = try loaded.openCache(access: .readOnly) }
      return OpenedCache(cache: try loaded.openCache(access: access), job: loaded)
    }
  }

  /// The cache for reading, with the job; nil in its place where there is none.
  func openIfThere() throws -> (cache: ImageCache?, job: Job) {
    let loaded = try load([])
    return try withCacheErrors { () throws(CacheError) in
      do throws(CacheError) {
        return (try loaded.openCache(access: .readOnly), loaded)
      } catch {
        if case .missing = error { return (nil, loaded) }
        throw error
      }
    }
  }

  /// The namespaces to choose from, if none is named by an option or a job; the default one alone counts as named.
  func choices() throws -> (job: Job, namespaces: [String])? {
    guard namespace == nil, job == nil else { return nil }
    let loaded = try load([])
    let names = try withCacheErrors { () throws(CacheError) in try ImageCache.namespaces(in: loaded.cache.disk.directory) }
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
      writeToStandardError(error.formatted(color: false))
      throw ExitCode(ExitStatus.misused.rawValue)
    }
  }
}

/// A cache with the job whose rules are meant.
struct OpenedCache {
  let cache: ImageCache
  var job: Job

  /// What the cache knows the images by that the job fetches for a URL of the command line, as they come: one, or one a variant and edge.
  func identities(of url: String) throws -> [[UInt8]] {
    do {
      return try job.identities(of: url, in: cache)
    } catch {
      throw CommandError(.misused, "\(named(url)): \(error.message)")
    }
  }
}

/// Calls `body` and makes the end of the command of what the cache throws.
func withCacheErrors<Result>(_ body: () throws(CacheError) -> Result) throws -> Result {
  do throws(CacheError) {
    return try body()
  } catch {
    throw CommandError(.couldNotFinish, error.jobSentence)
  }
}
