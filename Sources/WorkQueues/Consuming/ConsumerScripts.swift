#if Queue
import RedisClient

/// The atomic operations of a consumer in Redis.
///
/// Their first key is the job, their first argument the filling. They return 'REPLACED' if the queue was filled again
/// since: message numbers are reused then.
enum ConsumerScripts {
  /// `KEYS`: job, streams. Creates missing groups.
  static let join = script(
    "join",
    """
    for i = 2, #KEYS do
      local made = redis.pcall('XGROUP', 'CREATE', KEYS[i], 'workers', '0', 'MKSTREAM')
      if made.err and not string.find(made.err, 'BUSYGROUP') then return made end
    end
    return 'OK'
    """
  )

  /// `KEYS`: job, workers, streams. `ARGV`: consumer, then stream and id of each held message. Returns for each whether
  /// it is still held.
  static let renew = script(
    "renew",
    """
    local kept = {}
    local now = redis.call('TIME')[1]
    redis.call('ZADD', KEYS[2], now, ARGV[2])
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - 86400)
    for i = 3, #ARGV, 2 do
      local key, id = KEYS[tonumber(ARGV[i]) + 3], ARGV[i + 1]
      local pending = redis.call('XPENDING', key, 'workers', id, id, 1)[1]
      local isOwn = pending and pending[2] == ARGV[2]
      if isOwn then redis.call('XCLAIM', key, 'workers', ARGV[2], 0, id, 'JUSTID') end
      table.insert(kept, isOwn and 1 or 0)
    end
    return kept
    """
  )

  /// `KEYS`: job, the batch's stream, the stream of single entries. `ARGV`: consumer, id, deliveries, a message for each entry.
  static let split = script(
    "split",
    """
    local pending = redis.call('XPENDING', KEYS[2], 'workers', ARGV[3], ARGV[3], 1)[1]
    if not pending or pending[2] ~= ARGV[2] then return 0 end
    for i = 5, #ARGV do redis.call('XADD', KEYS[3], '*', 'm', ARGV[i], 'd', ARGV[4]) end
    redis.call('XACK', KEYS[2], 'workers', ARGV[3])
    redis.call('XDEL', KEYS[2], ARGV[3])
    return 1
    """
  )

  /// `KEYS`: job, workers, streams. `ARGV`: consumer, then stream, id and deliveries of each message to give back.
  ///
  /// The idle time of each becomes a day, so that others may take it over at once. Removes the consumer if it has
  /// nothing pending.
  static let leave = givingBack(
    "leave",
    """
    for i = 3, #ARGV, 3 do giveBack(KEYS[tonumber(ARGV[i]) + 3], ARGV[i + 1], ARGV[i + 2], 86400000) end
    for i = 3, #KEYS do
      if #redis.call('XPENDING', KEYS[i], 'workers', '-', '+', 1, ARGV[2]) == 0 then
        redis.pcall('XGROUP', 'DELCONSUMER', KEYS[i], 'workers', ARGV[2])
      end
    end
    redis.call('ZREM', KEYS[2], ARGV[2])
    return 'OK'
    """
  )

  /// `KEYS`: job, streams. `ARGV`: consumer, then stream, id and deliveries of each message to give back to idle
  /// workers.
  static let giveBack = givingBack(
    "giveBack",
    """
    for i = 3, #ARGV, 3 do giveBack(KEYS[tonumber(ARGV[i]) + 2], ARGV[i + 1], ARGV[i + 2], 0) end
    return 'OK'
    """
  )

  /// `KEYS`: job. `ARGV`: consumer. Returns whether another consumer needed work within the last second; see ``read``.
  static let checkNeed = script(
    "checkNeed",
    """
    local needed, by = string.match(redis.call('HGET', KEYS[1], 'needed') or '', '^(%d+) (.*)$')
    if not needed or by == ARGV[2] then return 0 end
    local clock = redis.call('TIME')
    local age = clock[1] * 1000 + math.floor(clock[2] / 1000) - tonumber(needed)
    return age >= 0 and age <= 1000 and 1 or 0
    """
  )

  /// The holder of messages that were given back. It is a consumer so that they are found without a search through
  /// those of workers.
  static let givenBack = "given-back"

  /// Makes a script with a function that gives a held message back, without counting that delivery.
  private static func givingBack(_ name: String, _ body: String) -> RedisScript {
    script(
      name,
      """
      local function giveBack(key, id, deliveries, idle)
        local pending = redis.call('XPENDING', key, 'workers', id, id, 1)[1]
        if not pending or pending[2] ~= ARGV[2] then return end
        redis.call('XCLAIM', key, 'workers', '\(givenBack)', 0, id, 'IDLE', idle, 'RETRYCOUNT', deliveries - 1, 'JUSTID')
      end

      """ + body
    )
  }

  /// Makes a script that does nothing unless the queue still has its caller's filling.
  static func script(_ name: String, _ body: String) -> RedisScript {
    RedisScript(name: name, source: "if redis.call('HGET', KEYS[1], 'filling') ~= ARGV[1] then return 'REPLACED' end\n" + body)
  }
}
#endif
