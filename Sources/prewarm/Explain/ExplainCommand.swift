import ArgumentParser
import ImageCaching
import ImageManaging
import Base
import Lists
import Reports
import Jobs

/// `prewarm explain`: shows what prewarm knows about a URL, without network.
struct ExplainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Show what prewarm knows about a URL",
    discussion: """
      Shows the cache entry, the blacklist entry, what a run would do now, and the request as a curl command. With --job, shows each \
      variant and edge of that job. Uses no network and changes nothing.

      Exits with 0 even if prewarm knows nothing about the URL; with 3 if it isn't a URL of an image.

      EXAMPLES:
        prewarm explain https://img.example.com/a.jpg
        prewarm explain https://example.com/a.jpg --job job.yaml

      Show rare options with 'prewarm explain --help-hidden'.
      """
  )

  @Argument(help: "Explain this URL")
  var url: String

  @OptionGroup(title: "Cache")
  var options: CacheOptions

  @OptionGroup(title: rareOptions, visibility: .hidden)
  var shards: ShardOption

  struct ShardOption: ParsableArguments {
    @Option(help: ArgumentHelp("Show which shard has the URL, such as 2/5, auto/5 or auto", valueName: "shard"))
    var shard: String?
  }

  func run() throws {
    let number = try shards.shard.map { try ShardOptions.number($0, named: "--shard \($0)") }
    let opened = try options.openIfThere()
    let normalized: BaseURL
    let ways: [EntryRequest]
    do {
      normalized = try BaseURL(url)
      ways = try opened.job.ways(of: url, in: opened.cache)
    } catch {
      throw CommandError(.misused, "\(named(url)): \(error.message)")
    }
    let shard = number.flatMap { ExplainedShard(of: normalized, opened.job.sharded($0)) }
    var explained = try explain(ways, shard, in: opened.cache)
    if opened.cache == nil, !normalized.parts.userInfo.isEmpty || opened.job.forHost(of: normalized).request.auth != nil {
      // Credentials are hashed with the cache's own key, so without a cache the entry's key is unknown.
      for index in explained.indices { explained[index].key = nil }
    }
    let sent = String(decoding: normalized.bytes.withUnsafeBytes { maskingCredentials($0) }, as: UTF8.self)
    let explanation = Explanation(
      url: shown(url),
      sentURL: sent,
      shard: shard,
      cachePath: opened.cache?.path,
      missingCache: opened.job.cache.disk.directory,
      ways: explained
    )
    if options.json { return try printJSON(explanation.json) }
    try printData(explanation.text)
  }

  private func explain(_ ways: [EntryRequest], _ shard: ExplainedShard?, in cache: ImageCache?) throws -> [ExplainedWay] {
    let isOther = shard.map { !$0.isOwn } ?? false
    let expectations = isOther ? ways.map { _ in .otherShard } : try expectations(of: ways)
    let transformed = try cache?.transformedEntries(of: Set(ways.map(\.identity))) ?? [:]
    return try zip(ways, expectations).map { way, expectation in
      try ExplainedWay(way, expectation, url: shown(url), in: cache, transformed: transformed)
    }
  }

  /// The URL alone, once for each list of the job, by whose filters it passes or not.
  private func lists(of job: Job) -> [Job.List] {
    let list = Job.List([URLList.InlineEntry(text: url, line: 0)])
    if job.manifests.isEmpty { return [list] }
    return job.manifests.map { given in
      var filtered = list
      filtered.list.include = given.list.include
      filtered.list.exclude = given.list.exclude
      return filtered
    }
  }

  /// What a run would do now with each way, found by a dry run.
  private func expectations(of ways: [EntryRequest]) throws -> [ExplainedWay.Expectation] {
    let manager = try ImageManager(ImageManager.Configuration())
    defer { manager.blocking.shutDown() }
    let runner = JobRunner(manager: manager, version: PrewarmVersion.current, control: RunControl())
    let manifests = ways.first.map { lists(of: $0.job) } ?? []
    return try ways.map { way in
      var job = way.job
      job.manifests = manifests
      job.cache.memory = nil
      job.baseline = nil
      return ExplainedWay.Expectation(runner.run(try PreparedJob(job, isDryRun: true)) { _ in }, job)
    }
  }
}
