import ImageCaching
import Reports

/// An explanation as `--json` prints it.
struct ExplanationRow: Encodable {
  struct Way: Encodable {
    let variant: String?
    let edge: String?
    let key: String?
    let identity: String
    let cached: Bool
    let entries: [Image]
    let blacklist: BlacklistRow?
    let next_run: String
    let curl: String
  }

  struct Image: Encodable {
    let record: EntryRow
    let transform: String?
    let file: String?
    let expired: Bool
    let vary: [String]
  }

  struct Shard: Encodable {
    let index: Int
    let count: Int
    let by: String
    let own: Bool
  }

  let url: String
  let sent_url: String
  let shard: Shard?
  let cache: String?
  let ways: [Way]

  init(_ explanation: Explanation) {
    url = explanation.url
    sent_url = explanation.sentURL
    shard = explanation.shard.map {
      Shard(index: $0.holder.index, count: $0.holder.count, by: $0.holder.rule, own: $0.isOwn)
    }
    cache = explanation.cachePath
    ways = explanation.ways.map { way in
      Way(
        variant: way.variant.name,
        edge: way.variant.edge,
        key: way.key,
        identity: way.identity,
        cached: way.stored.contains { $0.transform == nil },
        entries: way.stored.map {
          Image(record: EntryRow($0.record), transform: $0.transform, file: $0.file, expired: $0.isExpired, vary: $0.vary)
        },
        blacklist: way.blacklisted.map { BlacklistRow($0) },
        next_run: way.expectation.rawValue,
        curl: way.curl
      )
    }
  }
}
