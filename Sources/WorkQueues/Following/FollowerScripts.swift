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

  /// `KEYS`: job. `ARGV`: filling, or an empty text for any.
  static let markReported = RedisScript(
    name: "markReported",
    source: """
      local filling = redis.call('HGET', KEYS[1], 'filling')
      if filling and (ARGV[1] == '' or ARGV[1] == filling) then redis.call('HSET', KEYS[1], 'reported', 1) end
      return 1
      """
  )
}
