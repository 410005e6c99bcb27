#if Queue
import RedisClient

/// The operations that deliver messages to a consumer; each returns them as stream, id, deliveries, fields.
extension ConsumerScripts {
  /// `KEYS`: job, blacklist, streams, the highest priority first. `ARGV`: consumer; maximum of entries; 0, or 1 if it
  /// needs work, or 2 to announce that to others, too; 1 if it holds an entry that must not meet another of its kind.
  ///
  /// Returns 1 if the queue is sealed and empty, 2 if it is sealed and others hold the rest, else 0; whether there is a
  /// blacklist, messages, and whether these are new.
  /// A consumer that needs work and finds nothing new gets messages that others gave back, at most one batch, since
  /// more workers may need some. If it gets nothing, its name and the time are written to the job.
  static let read = delivering(
    "read",
    """
    left = tonumber(ARGV[3])
    local function takeGiven(isAlone)
      left = math.min(left, \(EntryGatherer.maximumEntriesPerMessage))
      for i = 3, #KEYS do
        local isRetry = i % 2 == 1
        local before = -1
        while room(i - 3) > 0 and before < #taken do
          before = #taken
          for _, pending in ipairs(redis.call('XPENDING', KEYS[i], 'workers', '-', '+', room(i - 3), '\(givenBack)')) do
            local isLone = isRetry and pending[4] > 0
            if not (isLone and isAlone) then
              isAlone = isAlone or isLone
              local claimed = redis.call('XCLAIM', KEYS[i], 'workers', ARGV[2], 0, pending[1])
              if claimed[1] then take(i - 3, claimed[1], pending[4] + 1) end
            end
          end
        end
      end
    end
    for i = 3, #KEYS do
      while room(i - 3) > 0 do
        local count = room(i - 3)
        local answer = redis.call('XREADGROUP', 'GROUP', 'workers', ARGV[2], 'COUNT', count, 'STREAMS', KEYS[i], '>')
        if not answer then break end
        for _, message in ipairs(answer[1][2]) do take(i - 3, message, 1) end
        if #answer[1][2] < count then break end
      end
    end
    local drained = 0
    if #taken == 0 and redis.call('HGET', KEYS[1], 'sealed') then
      drained = 1
      for i = 3, #KEYS do if redis.call('XLEN', KEYS[i]) > 0 then drained = 2 end end
    end
    local isNew = #taken
    if ARGV[4] ~= '0' and drained ~= 1 then
      if #taken == 0 then takeGiven(ARGV[5] == '1') end
      if #taken > 0 then
        redis.call('HDEL', KEYS[1], 'needed')
      elseif ARGV[4] == '2' then
        local clock = redis.call('TIME')
        local now = string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000))
        redis.pcall('HSET', KEYS[1], 'needed', now .. ' ' .. ARGV[2])
      end
    end
    return {drained, redis.call('EXISTS', KEYS[2]), taken, isNew}
    """
  )

  /// `KEYS`: job, streams. `ARGV`: consumer, idle milliseconds, maximum of entries, a cursor for each stream.
  ///
  /// Returns the next cursors, and messages. An empty cursor means that its stream is done, and skips the stream. The
  /// number of searches is limited; each examines at most ten times the messages that it may take.
  static let takeOver = delivering(
    "takeOver",
    """
    local cursors, looks = {}, 64
    left = tonumber(ARGV[4])
    for i = 2, #KEYS do
      local cursor = ARGV[i + 3]
      while cursor ~= '' and looks > 0 and room(i - 2) > 0 do
        looks = looks - 1
        local answer = redis.call('XAUTOCLAIM', KEYS[i], 'workers', ARGV[2], ARGV[3], cursor, 'COUNT', room(i - 2))
        cursor = answer[1] == '0-0' and '' or answer[1]
        for _, message in ipairs(answer[2]) do
          local pending = message and redis.call('XPENDING', KEYS[i], 'workers', message[1], message[1], 1)
          if pending and pending[1] then take(i - 2, message, pending[1][4]) end
        end
      end
      cursors[i - 1] = cursor
    end
    return {cursors, taken}
    """
  )

  /// `KEYS`: job, streams. `ARGV`: consumer, then stream and id of each held message. Returns messages that the server
  /// has delivered to this consumer but that got lost on the way; that delivery isn't counted again.
  static let recover = delivering(
    "recover",
    """
    local held = {}
    for i = 3, #ARGV, 2 do held[ARGV[i] .. ' ' .. ARGV[i + 1]] = true end
    for i = 2, #KEYS do
      for _, pending in ipairs(redis.call('XPENDING', KEYS[i], 'workers', '-', '+', 4096, ARGV[2])) do
        if #taken < \(messagesAtOnce) and not held[(i - 2) .. ' ' .. pending[1]] then
          local claimed = redis.call('XCLAIM', KEYS[i], 'workers', ARGV[2], 0, pending[1], 'RETRYCOUNT', pending[4])
          if claimed[1] then take(i - 2, claimed[1], pending[4]) end
        end
      end
    end
    return taken
    """
  )

  private static let messagesAtOnce = 8
  private static let maximumMessages = 64
  private static let bytesAtOnce = 16 << 20

  /// Makes a script that limits the messages it takes.
  ///
  /// `take` adds a message to `taken`, without its fields if it is too long. `room` is the number of messages to
  /// request from a stream, so that only the last exceeds the `left` entries, and the reply isn't too long for a
  /// connection. A message's field `n` is its number of entries; without it, the message counts as full, or as one
  /// entry in a retry stream.
  private static func delivering(_ name: String, _ body: String) -> RedisScript {
    script(
      name,
      """
      local taken, bytes, left = {}, 0, 0
      local function full(stream) return stream % 2 == 0 and 1 or \(EntryGatherer.maximumEntriesPerMessage) end
      local function take(stream, message, deliveries)
        local fields, size, entries = message[2], 0, full(stream)
        for i = 1, #fields, 2 do
          size = size + #fields[i] + #fields[i + 1]
          if fields[i] == 'n' then entries = tonumber(fields[i + 1]) or entries end
        end
        if size > \(QueuedMessage.maximumBytes + 1024) then fields, size = {}, 0 end
        table.insert(taken, {stream, message[1], deliveries, fields})
        bytes = bytes + size
        left = left - math.max(1, math.min(\(QueuedMessage.maximumEntries), entries))
      end
      local function room(stream)
        if left <= 0 or bytes > \(bytesAtOnce) then return 0 end
        return math.min(\(messagesAtOnce), \(maximumMessages) - #taken, math.ceil(left / full(stream)))
      end

      """ + body
    )
  }
}
#endif
