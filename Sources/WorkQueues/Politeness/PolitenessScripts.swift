import RedisClient

/// What the server does as one step each, by its own clock: workers' clocks need not agree.
enum PolitenessScripts {
  /// Reserves starts by the generic cell rate algorithm (ITU-T I.371) of depth 1; returns the microseconds from now to the first.
  ///
  /// The key holds the time of the first start that is free. No two starts are closer than an interval, whoever gets them; what
  /// nobody reserves is lost. A host that rests gives none before its rest is over. Each worker holds one reservation at a time,
  /// and after its connection broke perhaps another, so that no more than two of each can be ahead: what is further ahead is what
  /// remains of a clock that was set back, or of workers that are gone, and is given again.
  static let reserve = RedisScript(
    name: "reserve-starts",
    source: """
      -- KEYS: rate, rest, workers; ARGV: count, interval in microseconds, the most that one reserves at once
      local clock = redis.call('TIME')
      local now = clock[1] * 1000000 + clock[2]
      local count, interval, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
      local earliest = now + math.max(0, redis.call('PTTL', KEYS[2])) * 1000
      local workers = math.max(1, redis.call('ZCARD', KEYS[3]))
      local farthest = earliest + 2 * workers * most * interval + 1000000
      local reserved = tonumber(redis.call('GET', KEYS[1]) or 0) or 0
      local first = math.max(earliest, math.min(reserved, farthest))
      local free = first + count * interval
      redis.call('SET', KEYS[1], string.format('%.0f', free), 'PX', string.format('%.0f', math.ceil((free - now) / 1000) + 1))
      return first - now
      """
  )

  /// Lets a host rest, unless it does for as long already, and leaves word of it for the other workers.
  static let rest = RedisScript(
    name: "rest",
    source: """
      -- KEYS: rest, rests; ARGV: milliseconds, status, worker, origin
      local duration = tonumber(ARGV[1])
      if redis.call('PTTL', KEYS[1]) >= duration then return 0 end
      local clock = redis.call('TIME')
      local over = clock[1] * 1000 + math.floor(clock[2] / 1000) + duration
      redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])
      redis.call('XADD', KEYS[2], 'MAXLEN', '~', \(maximumRests), '*',
        'origin', ARGV[4], 'over', string.format('%.0f', over), 'status', ARGV[2], 'worker', ARGV[3])
      redis.call('PEXPIRE', KEYS[2], string.format('%.0f', math.max(redis.call('PTTL', KEYS[2]), duration)))
      return 1
      """
  )

  /// Tells of the rests that other workers have left word of since, and that still last: the last of them that was seen, then of
  /// each its origin, the milliseconds that are left of it, and the status; then how many workers there are, whoever asks among
  /// them.
  static let newRests = RedisScript(
    name: "new-rests",
    source: """
      -- KEYS: rests, workers; ARGV: the last one seen, worker
      local clock = redis.call('TIME')
      local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
      local last, found = ARGV[1], {}
      for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', 1000)) do
        last = entry[1]
        local fields = entry[2]
        local left = (tonumber(fields[4]) or 0) - now
        if left > 0 and fields[8] ~= ARGV[2] then
          found[#found + 1] = fields[2]
          found[#found + 1] = string.format('%.0f', left)
          found[#found + 1] = fields[6] or ''
        end
      end
      local others = redis.call('ZCARD', KEYS[2]) - (redis.call('ZSCORE', KEYS[2], ARGV[2]) and 1 or 0)
      return {last, found, others + 1}
      """
  )

  /// Says that a worker is there.
  static let beat = RedisScript(
    name: "worker-beat",
    source: """
      -- KEYS: workers; ARGV: worker, milliseconds after which one that says nothing is gone
      local clock = redis.call('TIME')
      local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
      redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
      redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - ARGV[2]))
      return redis.call('PEXPIRE', KEYS[1], ARGV[2])
      """
  )

  /// So many rests are known to who comes later, or a few more.
  private static let maximumRests = 4096
}

/// The keys of what workers of a queue share to be polite. All vanish by themselves once they mean nothing, that of the workers
/// when none of them has said for long that it is there, so that nobody has to remove them.
struct PolitenessKeys: Sendable {
  let workers: RedisArgument
  let rests: RedisArgument
  private let name: QueueName

  init(_ name: QueueName) {
    workers = name.key("polite")
    rests = name.key("rests")
    self.name = name
  }

  func rate(_ origin: String) -> RedisArgument { name.key("rate:\(origin)") }

  func rest(_ origin: String) -> RedisArgument { name.key("rest:\(origin)") }
}
