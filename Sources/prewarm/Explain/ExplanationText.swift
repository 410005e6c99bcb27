import ImageCaching
import Base
import Reports

extension Explanation {
  /// The explanation as text, one fact per line.
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
    for (name, value) in validators where transform == nil && !value.isEmpty {
      lines.append(fact("", "\(name): \(String(decoding: value, as: UTF8.self))"))
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
      hasProfile ? "colour profile" : nil,
      orientation > 1 ? "orientation \(orientation)" : nil,
      hasPosition ? "GPS position" : nil,
      dpi > 0 ? "\(dpi) DPI" : nil,
    ]
    let listed = parts.compactMap(\.self)
    return listed.isEmpty ? nil : listed.joined(separator: ", ")
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
    let why = head.status.map { "\(head.kind.name) \($0)" } ?? head.kind.name
    let first = head.firstAt.shortText
    let times =
      head.count > 1 ? "\(grouped(UInt64(head.count))) times from \(first) to \(head.lastAt.shortText)" : "once, \(first)"
    let end =
      head.isExpired(at: TimeSource.system.wall()) ? "expired" : head.expiresAt.map { "until \($0.shortText)" } ?? "permanent"
    return "\(why), \(times), \(end)"
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
