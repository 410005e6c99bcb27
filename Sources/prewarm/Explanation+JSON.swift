import ImageCaching
import Reports

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
