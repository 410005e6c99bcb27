import RedisClient

extension QueueFollower {
  /// By which policy Redis throws away keys that are to stay, such as `allkeys-lru`, once it is at its limit of memory; nil where it
  /// does not, has no limit, or does not tell us.
  ///
  /// The policies are those of `maxmemory-policy` in Redis' documentation on key eviction; `volatile-…` spare what never expires.
  public func evictionPolicy() throws(QueueError) -> String? {
    let told: RedisReply
    do throws(QueueError) {
      told = try command(["INFO", "memory"])
    } catch {
      // Who may not ask may fill a queue all the same.
      guard case .redis(let refusal) = error, refusal.kind == .refused else { throw error }
      return nil
    }
    var fields: [Substring: Substring] = [:]
    for line in (told.text ?? "").split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { fields[parts[0]] = parts[1] }
    }
    guard let policy = fields["maxmemory_policy"], policy.hasPrefix("allkeys"), fields["maxmemory"] != "0" else { return nil }
    return String(policy)
  }
}
