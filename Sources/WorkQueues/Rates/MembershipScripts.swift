#if Queue
import RedisClient

/// Steps that the server runs atomically and by its own clock, so that workers' clocks need not agree.
enum MembershipScripts {
  /// Renews a worker's membership. Returns the part of the rates that it may use, the number of workers, the number of workers
  /// with work, the ID of the last pause, and the pauses since `ARGV[6]` that still last: origin, milliseconds left and status of
  /// each. If Redis refuses the write, returns its error and the number of workers.
  ///
  /// A hash contains for each worker the end of its lease, whether it has work, and its part. A worker with work gets
  /// an even part, as far as it already has that or the others leave it. The recorded part is the larger of what it may
  /// use from now on and what it reports to use, which it may do until it has the reply.
  ///
  /// After an outage of Redis, other workers may not be back yet and use the parts that they had. If no heartbeat came
  /// for a while, leases couldn't be renewed, and the parts in the hash stay with their workers until all must be back.
  /// A worker that uses a part that isn't in the hash shows that Redis has lost data: then no part grows until all must
  /// be back.
  static let beat = RedisScript(
    name: "worker-beat",
    source: """
      -- KEYS: members, pauses; ARGV: worker, whether it has work, the part that it uses, lease, return interval, last pause seen
      local clock = redis.call('TIME')
      local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
      local worker, part, lease, back = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
      local fields = redis.call('HGETALL', KEYS[1])
      local seen, frozen, isKnown, others = now, 0, false, {}
      for index = 1, #fields, 2 do
        local name, value = fields[index], fields[index + 1]
        local expiry, busy, held = string.match(value, '^(%d+) ([01]) (%d+)$')
        if name == 'seen' then seen = tonumber(value) or now
        elseif name == 'frozen' then frozen = tonumber(value) or 0
        elseif name == worker then isKnown = true
        elseif expiry then others[#others + 1] = {name, tonumber(expiry), busy, tonumber(held)} end
      end
      local wasAway = math.abs(now - seen) > \(quietMilliseconds)
      if not isKnown and part > 0 then frozen = now + back end
      frozen = math.min(frozen, now + back)
      local changes, gone, workers, busyWorkers, taken = {}, {}, 1, tonumber(ARGV[2]), 0
      for _, other in ipairs(others) do
        -- A clock that was set back must not keep a part for long.
        local expiry = math.min(other[2], now + math.max(lease, back))
        if wasAway then expiry = math.max(expiry, now + back) end
        if expiry < now and now >= frozen then
          gone[#gone + 1] = other[1]
        else
          workers, busyWorkers, taken = workers + 1, busyWorkers + other[3], taken + other[4]
          if expiry ~= other[2] then
            changes[#changes + 1] = other[1]
            changes[#changes + 1] = string.format('%.0f %s %.0f', expiry, other[3], other[4])
          end
        end
      end
      local granted = 0
      if ARGV[2] == '1' then granted = math.min(math.floor(\(WorkerMembership.whole) / busyWorkers), math.max(part, \(WorkerMembership.whole) - taken)) end
      if now < frozen then granted = math.min(granted, part) end
      local own = string.format('%.0f %s %.0f', now + lease, ARGV[2], math.max(part, granted))
      local written = redis.pcall('HSET', KEYS[1], worker, own, 'seen', string.format('%.0f', now),
        'frozen', string.format('%.0f', frozen), unpack(changes))
      if type(written) == 'table' and written.err then return {written.err, workers} end
      if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
      redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.max(\(keptMilliseconds), lease, back)))
      local last, found = ARGV[6], {}
      for _, entry in ipairs(redis.call('XRANGE', KEYS[2], '(' .. last, '+', 'COUNT', 1000)) do
        last = entry[1]
        local fields = entry[2]
        local left = (tonumber(fields[4]) or 0) - now
        if left > 0 and fields[8] ~= worker then
          found[#found + 1] = fields[2]
          found[#found + 1] = string.format('%.0f', left)
          found[#found + 1] = fields[6] or ''
        end
      end
      return {granted, workers, busyWorkers, last, found}
      """
  )

  /// Makes a host pause, unless it already does for at least as long, and announces that to the other workers.
  static let pause = RedisScript(
    name: "pause-host",
    source: """
      -- KEYS: pause, pauses; ARGV: milliseconds, status, worker, origin
      local duration = tonumber(ARGV[1])
      if redis.call('PTTL', KEYS[1]) >= duration then return 0 end
      local clock = redis.call('TIME')
      local over = clock[1] * 1000 + math.floor(clock[2] / 1000) + duration
      redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])
      redis.call('XADD', KEYS[2], 'MAXLEN', '~', \(maximumPauses), '*',
        'origin', ARGV[4], 'over', string.format('%.0f', over), 'status', ARGV[2], 'worker', ARGV[3])
      redis.call('PEXPIRE', KEYS[2], string.format('%.0f', math.max(redis.call('PTTL', KEYS[2]), duration)))
      return 1
      """
  )

  /// An ID before all pauses.
  static let firstPause: RedisArgument = "0-0"
  /// Workers send a heartbeat every tenth of a second: if there was none for this long, Redis was away, or all workers
  /// are gone.
  private static let quietMilliseconds = 2000
  /// Memberships outlast an outage of Redis of up to an hour, so that the first worker back knows the parts in use.
  private static let keptMilliseconds = 3_600_000
  /// The approximate number of pauses that are kept for workers that join later.
  private static let maximumPauses = 4096
}

/// Redis' reply to a heartbeat; invalid values are ignored, since it is untrusted input.
struct MembershipReply {
  struct Pause: Equatable {
    var origin: String
    var duration: Duration
    var status: Int
  }

  /// The maximum pause of a host.
  private static let maximumMilliseconds: Int64 = 10 * 365 * 86_400_000

  var part: Int
  var workers: Int
  var workersWithWork: Int
  var lastPause: RedisArgument?
  var pauses: [Pause] = []

  /// Parses a reply to ``MembershipScripts/beat``; nil for anything else.
  init?(_ reply: RedisReply) {
    guard let fields = reply.array, fields.count == 5 else { return nil }
    let numbers = fields[0..<3].compactMap(\.integer).map { Int(clamping: $0) }
    guard numbers.count == 3 else { return nil }
    (part, workers, workersWithWork) = (numbers[0], numbers[1], numbers[2])
    lastPause = fields[3].bytes.map { RedisArgument($0) }
    let found = fields[4].array ?? []
    for index in stride(from: 0, to: found.count - 2, by: 3) {
      guard let origin = found[index].text, let left = found[index + 1].integer, left > 0 else { continue }
      let status = found[index + 2].integer.flatMap { (100...599).contains($0) ? Int($0) : nil }
      guard let status, origin.utf8.count <= 1024 else { continue }
      pauses.append(Pause(origin: origin, duration: .milliseconds(min(left, Self.maximumMilliseconds)), status: status))
    }
  }

  /// Redis' error if it refuses to write, and the number of workers.
  static func refusal(_ reply: RedisReply) -> (text: String, workers: Int?)? {
    guard let fields = reply.array, fields.count == 2, let text = fields[0].text else { return nil }
    return (text, fields[1].integer.flatMap { $0 > 0 ? Int(clamping: $0) : nil })
  }
}

/// The keys of the rates that workers of a queue share. All expire by themselves.
struct RateKeys: Sendable {
  let members: RedisArgument
  let pauses: RedisArgument
  private let name: QueueName

  init(_ name: QueueName) {
    members = name.key("members")
    pauses = name.key("pauses")
    self.name = name
  }

  func pause(_ origin: String) -> RedisArgument { name.key("pause:\(origin)") }
}
#endif
