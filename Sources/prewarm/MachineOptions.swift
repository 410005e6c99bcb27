import ArgumentParser
import WarmJobs

/// The options that set keys of the job which are each machine's own affair.
struct MachineOptions: ParsableArguments {
  @Option(help: ArgumentHelp("prefetch.concurrency: transfers in flight.", valueName: "count"))
  var concurrency: String?

  @Option(help: ArgumentHelp("prefetch.per-host: transfers in flight to one host.", valueName: "count"))
  var perHost: String?

  @Option(help: ArgumentHelp("cache.directory.", valueName: "folder"), completion: .directory)
  var cacheDirectory: String?

  /// What they set.
  var overrides: [JobOverride] {
    let all = [
      concurrency.map { JobOverride(path: "prefetch.concurrency", value: $0, origin: "--concurrency") },
      perHost.map { JobOverride(path: "prefetch.per-host", value: $0, origin: "--per-host") },
      cacheDirectory.map { JobOverride(path: "cache.directory", text: $0, origin: "--cache-directory") },
    ]
    return all.compactMap(\.self)
  }
}
