import RedisClient

/// The steps that a consumer takes in Redis, each of them whole or not at all.
///
/// All have the job as their first key and the filling as their first argument, and return 'REPLACED' where the queue is filled
/// with anything else now: numbers of messages are used again then.
enum ConsumerScripts {
  /// `KEYS`: job, streams. Makes the groups that are missing.
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

  /// `KEYS`: job, blacklist, streams, the highest class first. `ARGV`: consumer, how many messages.
  ///
  /// Returns whether the queue is sealed and nothing is open, whether there is a blacklist, and new messages: stream, id,
  /// deliveries, fields.
  static let read = script(
    "read",
    """
    local taken, left, bytes = {}, tonumber(ARGV[3]), 0
    for i = 3, #KEYS do
      while left > 0 do
        local count = math.min(left, \(messagesAtOnce))
        local answer = redis.call('XREADGROUP', 'GROUP', 'workers', ARGV[2], 'COUNT', count, 'STREAMS', KEYS[i], '>')
        if not answer then break end
        for _, message in ipairs(answer[1][2]) do
          local fields, size = bounded(message[2])
          table.insert(taken, {i - 3, message[1], 1, fields})
          left, bytes = left - 1, bytes + size
        end
        if bytes > \(bytesAtOnce) then left = 0 end
      end
    end
    local drained = 0
    if #taken == 0 and redis.call('HGET', KEYS[1], 'sealed') then
      drained = 1
      for i = 3, #KEYS do if redis.call('XLEN', KEYS[i]) > 0 then drained = 0 end end
    end
    return {drained, redis.call('EXISTS', KEYS[2]), taken}
    """
  )

  /// `KEYS`: job, streams. `ARGV`: consumer, idle milliseconds, how many messages, a cursor for each stream. Returns the next
  /// cursors, and messages as ``read``.
  static let takeOver = script(
    "takeOver",
    """
    local cursors, taken, left = {}, {}, tonumber(ARGV[4])
    for i = 2, #KEYS do
      cursors[i - 1] = ARGV[i + 3]
      if left > 0 then
        local count = math.min(left, \(messagesAtOnce))
        local answer = redis.call('XAUTOCLAIM', KEYS[i], 'workers', ARGV[2], ARGV[3], ARGV[i + 3], 'COUNT', count)
        cursors[i - 1] = answer[1]
        for _, message in ipairs(answer[2]) do
          if message then
            local pending = redis.call('XPENDING', KEYS[i], 'workers', message[1], message[1], 1)
            if pending[1] then
              local fields = bounded(message[2])
              table.insert(taken, {i - 2, message[1], pending[1][4], fields})
              left = left - 1
            end
          end
        end
      end
    end
    return {cursors, taken}
    """
  )

  /// `KEYS`: job, streams. `ARGV`: consumer, then stream and id of what it holds. Returns what the server believes it to hold
  /// beside that, as ``read`` does: its delivery was lost on the way, and is not counted again.
  static let recover = script(
    "recover",
    """
    local held, taken = {}, {}
    for i = 3, #ARGV, 2 do held[ARGV[i] .. ' ' .. ARGV[i + 1]] = true end
    for i = 2, #KEYS do
      for _, pending in ipairs(redis.call('XPENDING', KEYS[i], 'workers', '-', '+', 4096, ARGV[2])) do
        if #taken < \(messagesAtOnce) and not held[(i - 2) .. ' ' .. pending[1]] then
          local claimed = redis.call('XCLAIM', KEYS[i], 'workers', ARGV[2], 0, pending[1], 'RETRYCOUNT', pending[4])
          if claimed[1] then
            local fields = bounded(claimed[1][2])
            table.insert(taken, {i - 2, pending[1], pending[4], fields})
          end
        end
      end
    end
    return taken
    """
  )

  /// `KEYS`: job, workers, streams. `ARGV`: consumer, then stream and id of what it holds. Returns of each whether it is still
  /// held.
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

  /// `KEYS`: job, workers, streams. `ARGV`: consumer, then stream, id and deliveries of what it gives back.
  ///
  /// What was given back is as idle as if nobody had held it for a day, and that delivery does not count. A consumer with nothing
  /// pending is removed.
  static let leave = script(
    "leave",
    """
    for i = 3, #ARGV, 3 do
      local key, id = KEYS[tonumber(ARGV[i]) + 3], ARGV[i + 1]
      local pending = redis.call('XPENDING', key, 'workers', id, id, 1)[1]
      if pending and pending[2] == ARGV[2] then
        redis.call('XCLAIM', key, 'workers', ARGV[2], 0, id, 'IDLE', 86400000, 'RETRYCOUNT', ARGV[i + 2] - 1, 'JUSTID')
      end
    end
    for i = 3, #KEYS do
      if #redis.call('XPENDING', KEYS[i], 'workers', '-', '+', 1, ARGV[2]) == 0 then
        redis.pcall('XGROUP', 'DELCONSUMER', KEYS[i], 'workers', ARGV[2])
      end
    end
    redis.call('ZREM', KEYS[2], ARGV[2])
    return 'OK'
    """
  )

  private static let messagesAtOnce = 8
  private static let bytesAtOnce = 16 << 20

  private static func script(_ name: String, _ body: String) -> RedisScript {
    RedisScript(
      name: name,
      source: """
        if redis.call('HGET', KEYS[1], 'filling') ~= ARGV[1] then return 'REPLACED' end
        local function bounded(fields)
          local size = 0
          for _, field in ipairs(fields) do size = size + #field end
          if size > \(QueuedMessage.maximumBytes + 1024) then return {}, 0 end
          return fields, size
        end

        """ + body
    )
  }
}
