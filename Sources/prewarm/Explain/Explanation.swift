import ImageCaching
import ImageManaging
import Base
import Reports
import Jobs

/// What prewarm knows about a URL requested in one way: a variant from an edge.
struct ExplainedWay {
  /// What the next run would do.
  enum Expectation {
    case hit, blacklisted, fetch
    /// It fails for that reason, without a request.
    case fail(String)
    /// `cache.mode` is `only`.
    case skip
    /// Each list of the job filters it out.
    case filter
    case otherShard

    /// The expectation from the report of a dry run with one entry.
    init(_ report: FinishedReport, _ job: Job) {
      self =
        if report.end.isEmpty {
          .filter
        } else if report.totals.hits > 0 {
          .hit
        } else if report.totals.failed > 0, let failure = report.failures.first?.failure {
          .fail(failure.message)
        } else if report.totals.blacklisted > 0 {
          .blacklisted
        } else {
          job.cache.mode == .only ? .skip : .fetch
        }
    }

    /// The name in JSON.
    var name: String {
      switch self {
      case .hit: "hit"
      case .blacklisted: "blacklisted"
      case .fetch: "fetch"
      case .fail: "fail"
      case .skip: "skip"
      case .filter: "filter"
      case .otherShard: "other-shard"
      }
    }
  }

  /// An image in the cache.
  struct Stored {
    let record: EntryRecord
    /// The path of its body; nil if the body is in the index.
    let file: String?
    /// Whether the entry has expired.
    let isExpired: Bool
    /// When the job requests it again although it is fresh, because of `cache.min-fresh`; nil if it doesn't.
    let isDueFrom: Timestamp?
    /// The names of the request headers that the response varies by.
    let vary: [String]
    /// The transform that made it; nil for the original.
    let transform: String?
  }

  let variant: RequestVariant
  let identity: String
  /// 32 hexadecimal digits; nil if unknown.
  var key: String?
  /// The cached images, the original first.
  let stored: [Stored]
  let blacklisted: BlacklistRecord?
  let expectation: Expectation
  let curl: String

  /// Looks the URL up in `cache`; nil if there is no cache.
  ///
  /// - Parameter transformed: cached transformed images, by the identity of their original.
  init(
    _ way: EntryRequest,
    _ expectation: Expectation,
    url: String,
    in cache: ImageCache?,
    transformed: [[UInt8]: [EntryRecord]]
  ) throws(CacheError) {
    variant = way.variant
    identity = String(decoding: way.identity.withUnsafeBytes { maskingCredentials($0) }, as: UTF8.self)
    self.expectation = expectation
    curl = way.curl.line(for: url)
    let key = CacheKey(identity: way.identity)
    self.key = hexadecimal(key.high) + hexadecimal(key.low)
    guard let cache else {
      stored = []
      blacklisted = nil
      return
    }
    let original = try cache.entry(identity: way.identity)
    blacklisted = try cache.blacklistEntry(identity: way.identity)
    let now = TimeSource.system.wall()
    let minFresh = cache.configuration.minFresh
    stored = ((original.map { [$0] } ?? []) + transformed[way.identity, default: []]).map { record in
      Stored(
        record: record,
        file: cache.bodyPath(of: record),
        isExpired: record.expiresAt.map { $0 <= now } ?? false,
        isDueFrom: minFresh > .zero ? record.expiresAt.map { $0.advanced(by: .zero - minFresh) } : nil,
        vary: String(decoding: record.vary, as: UTF8.self).split(separator: "\n").map { String($0.prefix { $0 != ":" }) },
        transform: record.transformKey.map { String(decoding: $0, as: UTF8.self) }
      )
    }
  }
}

/// Everything that prewarm knows about a URL.
struct Explanation {
  /// The URL as written, with credentials masked.
  let url: String
  /// The URL as sent, with credentials masked.
  let sentURL: String
  /// The shard that has the URL; nil without `--shard`.
  let shard: ExplainedShard?
  /// The path of the cache; nil if there is no cache.
  let cachePath: String?
  /// The path where a run would create the cache.
  let missingCache: String
  let ways: [ExplainedWay]
}

/// The shard of a job that has a URL.
struct ExplainedShard {
  /// The shard that has the URL.
  let holder: ReportedShard
  /// The shard named by the option.
  let asked: ReportedShard

  /// Whether the named shard has the URL.
  var isOwn: Bool { holder == asked }

  /// Nil if `job` has no shards.
  init?(of url: BaseURL, _ job: Job) {
    guard let holder = job.reportedShard(of: url), let asked = job.reportedShard else { return nil }
    (self.holder, self.asked) = (holder, asked)
  }
}

extension Explanation {
  /// The explanation as `--json` prints it.
  var json: JSONTree {
    let shard = shard.map {
      JSONTree.sorted(["index": $0.holder.index, "count": $0.holder.count, "by": $0.holder.rule, "own": $0.isOwn])
    }
    return .sorted([
      "url": url,
      "sent_url": sentURL,
      "shard": shard,
      "cache": cachePath,
      "ways": ways.map(\.json),
    ])
  }
}

extension ExplainedWay {
  fileprivate var json: JSONTree {
    .sorted([
      "variant": variant.name,
      "edge": variant.edge,
      "key": key,
      "identity": identity,
      "cached": stored.contains { $0.transform == nil },
      "entries": stored.map(\.json),
      "blacklist": blacklisted?.json,
      "next_run": expectation.name,
      "curl": curl,
    ])
  }
}

extension ExplainedWay.Stored {
  fileprivate var json: JSONTree {
    .sorted(["record": record.json, "transform": transform, "file": file, "expired": isExpired, "vary": vary])
  }
}
