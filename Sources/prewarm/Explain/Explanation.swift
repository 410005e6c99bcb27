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

  struct Stored {
    let record: EntryRecord
    /// The path of its body; nil if the body is in the index.
    let file: String?
    /// When the job requests it again although it is fresh, because of `cache.min-fresh`; nil if it doesn't.
    let isDueFrom: Timestamp?

    var isExpired: Bool { record.expiresAt.map { $0 <= TimeSource.system.wall() } ?? false }
    /// The names of the request headers that the response varies by.
    var vary: [String] {
      String(decoding: record.vary, as: UTF8.self).split(separator: "\n").map { String($0.prefix { $0 != ":" }) }
    }
    /// The transform that made it; nil for the original.
    var transform: String? { record.transformKey.map { String(decoding: $0, as: UTF8.self) } }
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

  /// Looks the URL up in `cache`, if there is one; `transformed` has cached transformed images, by the identity of their original.
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
      (stored, blacklisted) = ([], nil)
      return
    }
    let original = try cache.entry(identity: way.identity)
    blacklisted = try cache.blacklistEntry(identity: way.identity)
    let minFresh = cache.configuration.minFresh
    stored = ((original.map { [$0] } ?? []) + transformed[way.identity, default: []]).map { record in
      let due = minFresh > .zero ? record.expiresAt.map { $0.advanced(by: .zero - minFresh) } : nil
      return Stored(record: record, file: cache.bodyPath(of: record), isDueFrom: due)
    }
  }
}

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

struct ExplainedShard {
  /// The shard that has the URL.
  let holder: ReportedShard
  let asked: ReportedShard

  var isOwn: Bool { holder == asked }

  /// Nil if `job` has no shards.
  init?(of url: BaseURL, _ job: Job) {
    guard let holder = job.reportedShard(of: url), let asked = job.reportedShard else { return nil }
    (self.holder, self.asked) = (holder, asked)
  }
}

extension Explanation {
  var json: JSONTree {
    let shard = shard.map {
      JSONTree.sorted(["index": $0.holder.index, "count": $0.holder.count, "by": $0.holder.rule, "own": $0.isOwn])
    }
    return .sorted(["url": url, "sent_url": sentURL, "shard": shard, "cache": cachePath, "ways": ways.map(\.json)])
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

extension Explanation {
  var text: String {
    var lines = [fact("URL", sentURL)]
    if url != sentURL { lines.append(fact("written", url)) }
    if let shard { lines.append(fact("shard", shard.sentence)) }
    lines.append(fact("cache", cachePath ?? "none in \(missingCache)"))
    for way in ways {
      lines.append("")
      if let title = way.variant.title { lines.append(escapedForTerminal(title)) }
      lines += way.facts(cached: cachePath != nil, url: sentURL, shard)
    }
    return lines.map { "\($0)\n" }.joined()
  }
}

/// `key        0123…`
private func fact(_ name: String, _ text: String) -> String { name.padded(to: 10) + " " + escapedForTerminal(text) }

extension ExplainedWay {
  fileprivate func facts(cached: Bool, url: String, _ shard: ExplainedShard?) -> [String] {
    var lines = [fact("key", key ?? "unknown without a cache, whose own key hashes credentials")]
    if key != nil, identity != url { lines.append(fact("identity", identity)) }
    if cached {
      if stored.first?.transform != nil || stored.isEmpty { lines.append(fact("cached", "no")) }
      for image in stored { lines += image.facts }
      lines.append(fact("blacklist", blacklisted?.sentence ?? "no"))
    }
    lines.append(fact("run now", expectation.sentence(stored, shard)))
    lines.append(fact("request", curl))
    return lines
  }
}

extension ExplainedWay.Stored {
  fileprivate var facts: [String] {
    let head = record.head
    let size = head.image.width > 0 ? "\(head.image.width)x\(head.image.height)" : nil
    let frames = head.image.frames > 1 ? "\(grouped(UInt64(head.image.frames))) \(head.image.format?.pictures ?? "frames")" : nil
    let image = [size, head.image.format?.name].compactMap(\.self).joined(separator: " ")
    let parts = [image.isEmpty ? nil : image, frames, byteCount(Double(head.bodySize)), head.proof.phrase]
    var lines = [fact(transform == nil ? "cached" : "resized", parts.compactMap(\.self).joined(separator: ", "))]
    if let transform { lines.append(fact("", "by \(transform)")) }
    if let metadata = head.image.metadata.phrase { lines.append(fact("", metadata)) }
    lines.append(fact("", "stored \(head.storedAt.shortText), \(freshness)"))
    lines.append(fact("", file.map { "in \($0)" } ?? "in the index"))
    let validators = [("ETag", record.etag), ("Last-Modified", record.lastModified), ("Content-Type", record.contentType)]
    for (name, value) in validators where transform == nil {
      if let value { lines.append(fact("", "\(name): \(value)")) }
    }
    if !vary.isEmpty { lines.append(fact("", "varies by \(vary.joined(separator: ", "))")) }
    return lines
  }

  /// Whether the job requests it again although it is fresh.
  fileprivate var isDue: Bool { isDueFrom.map { $0 <= TimeSource.system.wall() } ?? false }

  private var freshness: String {
    guard let moment = record.expiresAt else { return "never expires" }
    if record.isFromFuture { return "expired: stored \(record.storedAt.shortText), in the future, while the clock was wrong" }
    if isExpired { return "expired \(moment.shortText)" }
    return "fresh until \(moment.shortText)" + (isDueFrom.map { ", requested again from \($0.shortText)" } ?? "")
  }
}

extension ImageFormat {
  /// The word for several pictures of a file.
  fileprivate var pictures: String {
    switch self {
    case .tiff: "pages"
    case .ico, .heic: "pictures"
    default: "frames"
    }
  }
}

extension ImageMetadata {
  /// The properties that the image has; nil if it has none.
  fileprivate var phrase: String? {
    let parts = [
      hasProfile ? "colour profile" : nil, orientation > 1 ? "orientation \(orientation)" : nil,
      hasPosition ? "GPS position" : nil, dpi > 0 ? "\(dpi) DPI" : nil,
    ]
    return parts == [nil, nil, nil, nil] ? nil : parts.compactMap(\.self).joined(separator: ", ")
  }
}

extension ExplainedShard {
  /// `2/5, by URL`; if another shard was named: `2/5, by host; not in 3/5`.
  fileprivate var sentence: String {
    let rule = holder.rule == "url" ? "URL" : holder.rule
    let place = "\(holder.index)/\(holder.count), by \(rule)"
    return isOwn ? place : "\(place); not in \(asked.index)/\(asked.count)"
  }
}

extension ProofDepth {
  fileprivate var phrase: String {
    switch self {
    case .none: "not verified"
    case .header: "header verified"
    case .full: "every pixel decoded"
    }
  }
}

extension BlacklistRecord {
  /// `404, 3 times from 2026-11-21 09:00 UTC to 2026-11-21 12:00 UTC, until 2026-11-21 18:00 UTC`.
  fileprivate var sentence: String {
    let first = head.firstAt.shortText
    let times =
      head.count > 1 ? "\(grouped(UInt64(head.count))) times from \(first) to \(head.lastAt.shortText)" : "once, \(first)"
    return "\(why), \(times), \(until)"
  }
}

extension ExplainedWay.Expectation {
  fileprivate func sentence(_ stored: [ExplainedWay.Stored], _ shard: ExplainedShard?) -> String {
    switch self {
    case .hit: "hit"
    case .blacklisted: "skips it: blacklisted (prewarm blacklist remove URL, or --retry-blacklisted)"
    case .fail(let message): "fails without a request: \(message)"
    case .skip: "skips it: cache.mode is only"
    case .filter: "skips it: filtered out by include or exclude"
    case .otherShard: "leaves it to \(shard?.holder.phrase ?? "another shard")"
    case .fetch where stored.isEmpty: "downloads it"
    case .fetch where stored.contains(where: \.isExpired): "requests it again: expired"
    case .fetch where stored.contains { $0.isDue }: "requests it again: fresh for less than cache.min-fresh"
    case .fetch: "requests it again"
    }
  }
}
