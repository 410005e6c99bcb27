#if Queue
import ImagePrimitives
public import RedisClient

/// A snapshot of a queue.
public struct QueueStatus: Sendable {
  /// A worker that was seen within the last 30 s.
  public struct Worker: Sendable, Hashable {
    /// The host where it runs, its process ID, and a random number.
    public var name: String
    /// The time since it was last seen.
    public var silence: Duration
    /// Entries that it has taken and not finished.
    public var heldEntries: UInt64
  }

  /// A host that requested a pause, which all workers observe.
  public struct Pause: Sendable, Hashable {
    /// Its scheme, host and port.
    public var origin: String
    public var left: Duration
    /// The status of the response that requested it.
    public var status: Int
  }

  /// The queue as it is filled.
  public var queue: OpenQueue
  /// Its progress.
  public var progress: QueueProgress
  /// The workers, by name.
  public var workers: [Worker] = []
  /// Entries that workers have taken and not finished.
  public var heldEntries: UInt64 = 0
  /// Workers with work, which share the job's rates.
  public var workersSharingRates = 0
  /// The pauses, by origin.
  public var pauses: [Pause] = []

  /// Entries that no worker has taken.
  public var waitingEntries: UInt64 {
    let taken = progress.finalEntries &+ heldEntries
    return progress.written.entries - min(progress.written.entries, taken)
  }
}

extension QueueFollower {
  /// Returns a snapshot of the queue; nil if there is none.
  public func status() throws(QueueError) -> QueueStatus? {
    guard let queue = try open(), let progress = try progress(), progress.isOf(queue) else { return nil }
    let rates = RateKeys(location.name)
    let answer = try run(StatusScripts.status, keys: [keys.workers, rates.members, rates.pauses] + keys.streams)
    guard let parts = answer.array, parts.count == 5, let now = parts[0].integer else {
      throw .unreadable(location, what: "unknown reply to a script")
    }
    var status = QueueStatus(queue: queue, progress: progress)
    var held: [String: UInt64] = [:]
    for (name, entries) in pairs(parts[1]) where name != ConsumerScripts.givenBack { held[name] = entries.count }
    status.heldEntries = held.values.reduce(0, &+)
    for (name, seen) in pairs(parts[2]) {
      let silence = Duration.milliseconds(max(0, now - Int64(clamping: seen.count) * 1000))
      status.workers.append(QueueStatus.Worker(name: name, silence: silence, heldEntries: held[name] ?? 0))
    }
    status.workers.sort { $0.name < $1.name }
    // The end of its lease, whether it has work, and its part of the rates.
    status.workersSharingRates = pairs(parts[3]).count { _, member in
      let fields = member.text?.split(separator: " ") ?? []
      return fields.count == 3 && fields[1] == "1" && Int64(fields[0]) ?? 0 >= now
    }
    status.pauses = pauses(parts[4], now: now)
    return status
  }

  private func pairs(_ reply: RedisReply) -> [(String, RedisReply)] {
    let fields = reply.array ?? []
    return stride(from: 0, to: fields.count - 1, by: 2).compactMap { index in fields[index].text.map { ($0, fields[index + 1]) } }
  }

  /// The current pauses, the longest of each host.
  private func pauses(_ reply: RedisReply, now: Int64) -> [QueueStatus.Pause] {
    var found: [String: QueueStatus.Pause] = [:]
    for entry in reply.array ?? [] {
      guard let parts = entry.array, parts.count == 2 else { continue }
      let fields = Dictionary(pairs(parts[1])) { $1 }
      guard let origin = fields["origin"]?.text, let over = fields["over"]?.integer, over > now else { continue }
      let left = Duration.milliseconds(over - now)
      if left <= found[origin]?.left ?? .zero { continue }
      found[origin] = QueueStatus.Pause(origin: origin, left: left, status: Int(clamping: fields["status"]?.integer ?? 0))
    }
    return found.values.sorted { $0.origin < $1.origin }
  }

  /// Returns the names of the queues on the server at `address`, sorted.
  public static func names(
    at address: RedisAddress,
    timeouts: RedisConnection.Timeouts = .init()
  ) throws(QueueError) -> [QueueName] {
    var names: Set<String> = []
    do throws(RedisError) {
      let connection = try RedisConnection(address, timeouts: timeouts)
      var cursor: RedisArgument = "0"
      repeat {
        let page = try connection.command(["SCAN", cursor, "MATCH", "{prewarm:*}:job", "COUNT", 1000]).array ?? []
        guard page.count == 2, let next = page[0].text else { break }
        for key in page[1].array ?? [] {
          if let text = key.text { names.insert(String(text.dropFirst("{prewarm:".count).dropLast("}:job".count))) }
        }
        cursor = RedisArgument(next)
      } while cursor != "0"
    } catch {
      throw .redis(error)
    }
    return names.sorted().compactMap(QueueName.init)
  }
}

private enum StatusScripts {
  /// Messages whose entries are counted; each further message counts as one entry.
  private static let maximumMessages = 1000

  /// `KEYS`: workers, members, pauses, then the streams. Returns the time in milliseconds; the entries that consumers
  /// hold; the live workers and when each was seen; the shared rates; and the pauses.
  static let status = RedisScript(
    name: "status",
    source: """
      local clock = redis.call('TIME')
      local held, names, looked = {}, {}, 0
      for i = 4, #KEYS do
        local start = '-'
        while true do
          local page = redis.pcall('XPENDING', KEYS[i], 'workers', start, '+', 1000)
          if page.err then break end
          for _, pending in ipairs(page) do
            local entries = 1
            if looked < \(maximumMessages) then
              local message = redis.call('XRANGE', KEYS[i], pending[1], pending[1])[1]
              local fields = message and message[2] or {}
              for at = 1, #fields, 2 do
                if fields[at] == 'n' then entries = tonumber(fields[at + 1]) or 1 end
              end
            end
            looked = looked + 1
            if not held[pending[2]] then
              held[pending[2]] = 0
              names[#names + 1] = pending[2]
            end
            held[pending[2]] = held[pending[2]] + entries
          end
          if #page < 1000 then break end
          start = '(' .. page[#page][1]
        end
      end
      local counts = {}
      for _, name in ipairs(names) do
        counts[#counts + 1] = name
        counts[#counts + 1] = held[name]
      end
      local workers = redis.call('ZRANGEBYSCORE', KEYS[1], clock[1] - \(FollowerScripts.workerSeconds), '+inf', 'WITHSCORES')
      return {clock[1] * 1000 + math.floor(clock[2] / 1000), counts, workers, redis.call('HGETALL', KEYS[2]),
        redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1000)}
      """
  )
}
#endif
