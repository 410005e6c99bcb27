import ImageCaching
import ImageManaging
import ImagePrimitives
import ImageURLs
import Reports
import WarmJobs

/// What is known of a URL, asked for in one way.
struct ExplainedWay {
  /// What a run would do now.
  enum Expectation: String {
    case hit, blacklisted, fetch, skip
    case otherShard = "other-shard"

    /// What a dry run of that job found of its one entry.
    init(_ report: FinishedReport, _ job: Job) {
      self =
        if report.totals.hits > 0 {
          .hit
        } else if report.totals.blacklisted > 0 {
          .blacklisted
        } else {
          job.cache.mode == .only ? .skip : .fetch
        }
    }
  }

  /// An image in the cache.
  struct Stored {
    let record: EntryRecord
    /// Where its body is; nil: in the index.
    let file: String?
    /// Whether it is too old to be served without asking.
    let isExpired: Bool
    /// The names of the request headers that the answer depends on.
    let vary: [String]
    /// What was made of the original; nil for the image as it came.
    let transform: String?
  }

  let variant: RequestVariant
  let identity: String
  /// 32 hexadecimal digits; nil if unknown.
  var key: String?
  /// The image as it came first, where it is cached.
  let stored: [Stored]
  let blacklisted: BlacklistRecord?
  let expectation: Expectation
  let curl: String

  /// Looks into `cache`; nil: there is none.
  ///
  /// - Parameter transformed: what is there of images made of others, by the identity of those.
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
    let (key, name) = way.identity.withUnsafeBytes { bytes in
      let key = CacheKey(identity: bytes)
      return (key, hexadecimal(key.high) + hexadecimal(key.low))
    }
    self.key = name
    guard let cache else {
      stored = []
      blacklisted = nil
      return
    }
    let original = try way.identity.withRawBytes { bytes throws(CacheError) in try cache.entry(key, identity: bytes) }
    blacklisted = try way.identity.withRawBytes { bytes throws(CacheError) in try cache.blacklistEntry(key, identity: bytes) }
    let now = TimeSource.system.wall()
    stored = ((original.map { [$0] } ?? []) + transformed[way.identity, default: []]).map { record in
      Stored(
        record: record,
        file: cache.bodyPath(of: record),
        isExpired: cache.isExpired(record.head, at: now),
        vary: String(decoding: record.vary, as: UTF8.self).split(separator: "\n").map { String($0.prefix { $0 != ":" }) },
        transform: record.transformKey.map { String(decoding: $0, as: UTF8.self) }
      )
    }
  }
}

/// All that is known of a URL.
struct Explanation {
  /// As it was written, credentials masked.
  let url: String
  /// As it is sent, credentials masked.
  let sentURL: String
  /// Which part of the job has it; nil if no part was asked about.
  let shard: ExplainedShard?
  /// Where the cache is; nil if there is none.
  let cachePath: String?
  /// Where there would be one.
  let missingCache: String
  let ways: [ExplainedWay]
}

/// Which part of a job has a URL.
struct ExplainedShard {
  /// The part that has it.
  let holder: ReportedShard
  /// The part that was asked about.
  let asked: ReportedShard

  /// Whether the part that was asked about has it.
  var isOwn: Bool { holder == asked }

  /// Nil if `job` is not cut.
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
      "next_run": expectation.rawValue,
      "curl": curl,
    ])
  }
}

extension ExplainedWay.Stored {
  fileprivate var json: JSONTree {
    .sorted(["record": record.json, "transform": transform, "file": file, "expired": isExpired, "vary": vary])
  }
}
