import ImageCaching
import ImagePrimitives
import Reports

extension Explanation {
  /// For a person: a fact a line.
  var text: String {
    var lines = [fact("URL", sentURL)]
    if url != sentURL { lines.append(fact("written", url)) }
    if let shard { lines.append(fact("shard", shard.sentence)) }
    lines.append(fact("cache", cachePath ?? "there is none in \(missingCache)"))
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
    var lines = [fact("key", key ?? "not known without the cache, under whose own key credentials are hashed")]
    if key != nil, identity != url { lines.append(fact("identity", identity)) }
    if cached {
      if stored.first?.transform != nil || stored.isEmpty { lines.append(fact("cached", "no")) }
      for image in stored { lines += image.facts }
      lines.append(fact("blacklist", blacklisted?.sentence ?? "not on it"))
    }
    lines.append(fact("a run", expectation.sentence(stored, isExpired: stored.contains(where: \.isExpired), shard)))
    lines.append(fact("request", curl))
    return lines
  }
}

extension ExplainedWay.Stored {
  fileprivate var facts: [String] {
    let head = record.head
    let size = head.width > 0 ? "\(head.width)x\(head.height)" : nil
    let frames = head.frames > 1 ? "\(grouped(UInt64(head.frames))) frames" : nil
    let image = [size, head.format?.name].compactMap(\.self).joined(separator: " ")
    let parts = [image.isEmpty ? nil : image, frames, byteCount(Double(head.bodySize)), head.proof.phrase]
    var lines = [fact(transform == nil ? "cached" : "made of it", parts.compactMap(\.self).joined(separator: ", "))]
    if let transform { lines.append(fact("", "by \(transform)")) }
    lines.append(fact("", "stored \(head.storedAt.shortText), \(freshness)"))
    lines.append(fact("", file.map { "in \($0)" } ?? "in the index"))
    let validators = [("ETag", record.etag), ("Last-Modified", record.lastModified), ("Content-Type", record.contentType)]
    for (name, value) in validators where !value.isEmpty {
      lines.append(fact("", "\(name): \(String(decoding: value, as: UTF8.self))"))
    }
    if !vary.isEmpty { lines.append(fact("", "depends on \(vary.joined(separator: ", "))")) }
    return lines
  }

  private var freshness: String {
    guard let moment = record.expiresAt else { return "never expires" }
    return "\(isExpired ? "expired" : "fresh until") \(moment.shortText)"
  }
}

extension ExplainedShard {
  /// `2/5, by its URL`, and where that is another than the one asked about: `2/5, by its host; not in 3/5`.
  fileprivate var sentence: String {
    let rule = holder.rule == "url" ? "URL" : holder.rule
    let place = "\(holder.index)/\(holder.count), by its \(rule)"
    return isOwn ? place : "\(place); not in \(asked.index)/\(asked.count)"
  }
}

extension ProofDepth {
  fileprivate var phrase: String {
    switch self {
    case .none: "unproven"
    case .header: "its header proven"
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
    let now = TimeSource.system.wall()
    let end = head.expiresAt.map { "\($0 <= now ? "expired" : "until") \($0.shortText)" } ?? "for ever"
    return "\(why), \(times), \(end)"
  }
}

extension ExplainedWay.Expectation {
  fileprivate func sentence(_ stored: [ExplainedWay.Stored], isExpired: Bool, _ shard: ExplainedShard?) -> String {
    switch self {
    case .hit: "would find it: a hit"
    case .blacklisted: "would not ask: it is known bad (prewarm blacklist remove; --retry-blacklisted)"
    case .skip: "would skip it: cache.mode is only"
    case .otherShard: "would leave it to \(shard?.holder.phrase ?? "another shard")"
    case .fetch where stored.isEmpty: "would fetch it"
    case .fetch: isExpired ? "would ask for it again: it has expired" : "would ask for it again"
    }
  }
}
