#if Queue
import ImagePrimitives
import CXXHash
import RedisClient

/// The results of a worker for one message.
public struct Settlement: Sendable {
  /// The maximum length of one of ``results`` in bytes.
  public static let maximumResultBytes = 1 << 20

  /// The message.
  public var message: QueuedMessage.ID
  /// Its number of entries.
  public var entryCount: Int
  /// Opaque data for followers of the queue, in order; each at most ``maximumResultBytes``.
  public var results: [[UInt8]]
  /// The number of outcomes by `LoadOutcome`'s raw value; an entry may have several, or none.
  public var counts: [UInt64]
  /// URLs that were found to be bad, each with an opaque value.
  public var badURLs: [(key: BadURLKey, value: [UInt8])] = []
  /// URLs that are good again.
  public var goodURLs: [BadURLKey] = []

  /// Creates the results of `message`.
  public init(of message: QueuedMessage, results: [[UInt8]], counts: [UInt64]) {
    self.message = message.id
    entryCount = message.entries.count
    self.results = results
    self.counts = counts
  }
}

extension Settlement {
  /// Acknowledges a message and writes its results, atomically and once.
  ///
  /// `KEYS`: job, stream, results, totals, blacklist. `ARGV`: filling, id, entries, undecodable messages, then three
  /// lists with their lengths: results; outcomes and their counts; fields of the blacklist, each with 1 and a value, or
  /// with 0 and an empty value. Returns 1, or 0 if the message isn't pending because it was settled before.
  ///
  /// Redis doesn't roll back a script that fails. So everything that may fail is checked before the first change: the
  /// types of the keys, and that totals are numbers. If memory runs out, the first change is refused, and no change is
  /// made.
  static let script = RedisScript(
    name: "settle",
    source: """
      if redis.call('HGET', KEYS[1], 'filling') ~= ARGV[1] then return 'REPLACED' end
      for i, wanted in ipairs({'hash', 'stream', 'stream', 'hash', 'hash'}) do
        local found = redis.call('TYPE', KEYS[i]).ok
        if found ~= wanted and found ~= 'none' then
          return redis.error_reply('WRONGTYPE ' .. KEYS[i] .. ' is a ' .. found .. ', not a ' .. wanted)
        end
      end
      for _, total in ipairs(redis.call('HVALS', KEYS[4])) do
        if not string.match(total, '^%d+$') or #total > 18 then
          return redis.error_reply('WRONGTYPE ' .. KEYS[4] .. ' holds no totals')
        end
      end
      local pending = redis.pcall('XPENDING', KEYS[2], 'workers', ARGV[2], ARGV[2], 1)
      if pending.err or not pending[1] then return 0 end
      local at = 5
      local function list(size)
        local first = at + 1
        at = at + 1 + tonumber(ARGV[at]) * size
        return first, at - 1
      end
      local first, last = list(1)
      for i = first, last do redis.call('XADD', KEYS[3], '*', 'r', ARGV[i]) end
      redis.call('HINCRBY', KEYS[4], 'entries', ARGV[3])
      if ARGV[4] ~= '0' then redis.call('HINCRBY', KEYS[4], 'undecodable', ARGV[4]) end
      first, last = list(2)
      for i = first, last, 2 do redis.call('HINCRBY', KEYS[4], ARGV[i], ARGV[i + 1]) end
      first, last = list(3)
      for i = first, last, 3 do
        if ARGV[i + 1] == '1' then redis.call('HSET', KEYS[5], ARGV[i], ARGV[i + 2]) else redis.call('HDEL', KEYS[5], ARGV[i]) end
      end
      redis.call('XACK', KEYS[2], 'workers', ARGV[2])
      redis.call('XDEL', KEYS[2], ARGV[2])
      return 1
      """
  )

  /// The call that writes it.
  func call(_ keys: QueueKeys, filling: String) -> ScriptCall {
    var arguments: [RedisArgument] = [
      RedisArgument(filling), RedisArgument(message.text), RedisArgument(entryCount), entryCount == 0 ? 1 : 0,
      RedisArgument(results.count),
    ]
    arguments += results.map { RedisArgument($0) }
    let counted = counts.enumerated().filter { $0.element > 0 }
    arguments.append(RedisArgument(counted.count))
    for (outcome, count) in counted { arguments += [RedisArgument(outcome), RedisArgument(count)] }
    arguments.append(RedisArgument(badURLs.count + goodURLs.count))
    for (key, value) in badURLs { arguments += [RedisArgument(key.field), 1, RedisArgument(value)] }
    for key in goodURLs { arguments += [RedisArgument(key.field), 0, ""] }
    return ScriptCall(
      Self.script,
      keys: [keys.job, keys.stream(message.stream), keys.results, keys.totals, keys.blacklist],
      arguments
    )
  }
}

/// The key of a URL in the blacklist that workers share: a hash of its bytes as in the message, and the variant.
public struct BadURLKey: Sendable, Hashable {
  /// 32 hexadecimal digits (XXH3, 128 bits), a colon, and the variant.
  let field: [UInt8]

  /// Creates the key of a URL and of one of the job's variants, counted from 0.
  public init(url: UnsafeRawBufferPointer, variant: Int) {
    let hash = XXH3_128bits(url.baseAddress, url.count)
    field = Array("\(hexadecimal(hash.high64))\(hexadecimal(hash.low64)):\(variant)".utf8)
  }
}
#endif
