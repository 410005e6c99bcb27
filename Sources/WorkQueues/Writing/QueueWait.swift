public import RedisClient

/// What a ``QueueWriter`` waits for.
public enum QueueWait: Sendable, Hashable {
  /// The queue holds that many entries, and workers have to finish some.
  case forWorkers(maximumEntries: UInt64)
  /// Redis cannot be reached or takes nothing for the time being.
  case forRedis(RedisError)
}
