import RedisClient

/// What a follower asks of Redis in one step.
enum FollowerScripts {
  /// How long after its last sign a worker counts as alive.
  static let workerSeconds = 30

  /// `KEYS`: job, totals, results, blacklist, workers, then the streams. Returns what the job says, the totals, and how many
  /// messages are open and held, and workers alive.
  static let progress = RedisScript(
    name: "progress",
    source: """
      local open, held = 0, 0
      for i = 6, #KEYS do
        open = open + redis.call('XLEN', KEYS[i])
        held = held + (tonumber(redis.pcall('XPENDING', KEYS[i], 'workers')[1]) or 0)
      end
      local now = tonumber(redis.call('TIME')[1])
      local workers = redis.call('ZCOUNT', KEYS[5], now - \(workerSeconds), '+inf')
      return {redis.call('HMGET', KEYS[1], 'filling', 'written', 'entries', 'sealed', 'reported'), redis.call('HGETALL', KEYS[2]),
        open, held, workers}
      """
  )

  /// `KEYS`: job, results. `ARGV`: filling. Returns 1, or 0 where the queue holds another filling, or none.
  ///
  /// The results are removed in the same step: nobody needs them any more, and those of another filling are never touched.
  static let markReported = RedisScript(
    name: "markReported",
    source: """
      if redis.call('HGET', KEYS[1], 'filling') ~= ARGV[1] then return 0 end
      redis.call('HSET', KEYS[1], 'reported', 1)
      redis.call('UNLINK', KEYS[2])
      return 1
      """
  )

  /// `KEYS`: job, then all other keys. `ARGV`: filling. Returns 1, or 0 where the queue holds another filling, or none.
  static let delete = RedisScript(
    name: "delete",
    source: """
      if redis.call('HGET', KEYS[1], 'filling') ~= ARGV[1] then return 0 end
      redis.call('UNLINK', unpack(KEYS))
      return 1
      """
  )
}
