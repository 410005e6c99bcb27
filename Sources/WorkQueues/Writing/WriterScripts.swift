import RedisClient

/// The steps that a writer takes in Redis, each of them whole or not at all.
enum WriterScripts {
  /// `KEYS`: job, then all other keys, of which the streams begin at the sixth. `ARGV`: the fields of the job, of which the first
  /// is its digest. Returns what the job says, after it was made where there was none.
  static let begin = RedisScript(
    name: "begin",
    source: """
      if redis.call('EXISTS', KEYS[1]) == 0 then
        for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
        redis.call('HSET', KEYS[1], 'digest', ARGV[1], 'contents', ARGV[2], 'variants', ARGV[3], 'created', ARGV[4],
          'filling', ARGV[5], 'written', 0, 'chain', ARGV[6], 'entries', 0)
        for i = 6, #KEYS do redis.call('XGROUP', 'CREATE', KEYS[i], 'workers', '0', 'MKSTREAM') end
      end
      return redis.call('HMGET', KEYS[1], 'digest', 'filling', 'written', 'entries', 'sealed')
      """
  )

  /// `KEYS`: job, stream. `ARGV`: filling, number, the chain before and after, entries up to here, the message, its entries.
  ///
  /// A message whose number was written is not written again, and one is written only behind the very messages that its writer
  /// believes to be there. So it does no harm if commands of a connection that was given up arrive late, or if two write at a
  /// time.
  static let append = RedisScript(
    name: "append",
    source: """
      local job = redis.call('HMGET', KEYS[1], 'filling', 'written', 'chain', 'sealed')
      if job[1] ~= ARGV[1] then return 'REPLACED' end
      local written, number = tonumber(job[2]), tonumber(ARGV[2])
      if number <= written then return 'WRITTEN' end
      if job[4] then return 'CHANGED' end
      if number > written + 1 then return 'GAP' end
      if job[3] ~= ARGV[3] then return 'CHANGED' end
      redis.call('XADD', KEYS[2], ARGV[2] .. '-0', 'm', ARGV[6], 'n', ARGV[7])
      redis.call('HSET', KEYS[1], 'written', ARGV[2], 'chain', ARGV[4], 'entries', ARGV[5])
      return 'WRITTEN'
      """
  )

  /// `KEYS`: job. `ARGV`: filling, number of messages, their chain, then fields of the job and their values.
  static let seal = RedisScript(
    name: "seal",
    source: """
      local job = redis.call('HMGET', KEYS[1], 'filling', 'written', 'chain')
      if job[1] ~= ARGV[1] then return 'REPLACED' end
      if tonumber(job[2]) < tonumber(ARGV[2]) then return 'GAP' end
      if job[2] ~= ARGV[2] or job[3] ~= ARGV[3] then return 'CHANGED' end
      redis.call('HSET', KEYS[1], 'sealed', 1, unpack(ARGV, 4))
      return 'WRITTEN'
      """
  )
}
