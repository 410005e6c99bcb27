import ArgumentParser
import ImageCaching
import ImageManaging
import ImagePrimitives
import ImageURLs
import Manifests
import Reports
import WarmJobs

/// `prewarm explain`: shows all that is known of a URL, without network.
struct ExplainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Tell a URL's key, file, cache record and blacklist entry, what a run would do, and how to make its request.",
    discussion: """
      With --job, as that job asks for it: each variant and edge is told by itself. No network is used, and nothing is changed. Ends with 0 \
      also where nothing is known of the URL, and where there is no cache yet; with 3 where it is no URL of an image.

      With --shard it tells which part of the job has the URL, and what the run of the named one does with it.
      """
  )

  @Argument(help: "The image's URL.")
  var url: String

  @OptionGroup var options: CacheOptions

  @Option(
    help: ArgumentHelp(
      "Tell which of N parts has the URL, and what a run of the named one does: 2/5, auto/5 or auto, as prewarm run takes it.",
      valueName: "shard"
    )
  )
  var shard: String?

  func run() throws {
    let number = try shard.map { try ShardOptions.number($0) }
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
    if opened.cache == nil, !normalized.parts.userInfo.isEmpty || opened.job.request.auth != nil {
      // Without the cache's own key, credentials hash to nothing that any cache knows.
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
    return try withCacheErrors { () throws(CacheError) in
      let transformed = try cache?.transformedEntries(of: Set(ways.map(\.identity))) ?? [:]
      var explained: [ExplainedWay] = []
      for (way, expectation) in zip(ways, expectations) {
        explained.append(try ExplainedWay(way, expectation, url: shown(url), in: cache, transformed: transformed))
      }
      return explained
    }
  }

  /// What a run of each way's job would do now: that of a dry run, which makes no request.
  private func expectations(of ways: [EntryRequest]) throws -> [ExplainedWay.Expectation] {
    let manager: ImageManager
    do {
      manager = try ImageManager()
    } catch {
      throw CommandError(.couldNotFinish, "\(error)")
    }
    defer { manager.shutDown() }
    let runner = JobRunner(manager: manager, version: PrewarmVersion.current, control: RunControl())
    return try ways.map { way in
      var job = way.job
      job.manifests = [Job.Manifest([Manifest.InlineEntry(text: url, line: 0)])]
      job.cache.memory = nil
      job.baseline = nil
      do {
        let report = runner.run(try PreparedJob(job, isDryRun: true)) { _ in }
        return ExplainedWay.Expectation(report, job)
      } catch {
        throw CommandError(.couldNotFinish, "\(error)")
      }
    }
  }
}
