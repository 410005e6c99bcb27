import Base

/// The rules of `robots.txt` files, and the downloads that wait for them.
///
/// Rules are kept for a day (RFC 9309, section 2.4), and failures to fetch a file for five minutes. Above a number of hosts or bytes,
/// all are dropped and fetched again.
struct RobotsRegistry {
  private static let maximumCount = 16_384
  private static let maximumBytes = 64 << 20

  /// A site and the robot's product token.
  struct Key: Hashable {
    /// The origin of the rules, as in the URL.
    var origin: URLOrigin
    /// The server of the connection: servers of one site may differ.
    var server: URLOrigin
    var token: String
  }

  enum Policy {
    case rules(RobotsRules)
    /// The file couldn't be fetched, for that reason, so everything is disallowed (section 2.3.1.4).
    case unreachable(ImageFailure)

    /// How long it is kept.
    fileprivate var lasts: Duration { if case .rules = self { .seconds(86_400) } else { .seconds(300) } }

    /// Its approximate size in memory, in bytes.
    fileprivate var memoryBytes: Int { if case .rules(let rules) = self { rules.memoryBytes } else { 0 } }
  }

  /// A `robots.txt` that is being fetched.
  struct Fetch {
    var key: Key
    /// The slots of the jobs that wait for it.
    var waiting: Set<Int>
  }

  private var known: [Key: (policy: Policy, until: MonotonicInstant)] = [:]
  private var knownBytes = 0
  private var fetches: [UInt64: Fetch] = [:]
  private var numbers: [Key: UInt64] = [:]
  private var lastNumber: UInt64 = 0
  // Consecutive jobs mostly have the same options.
  private var tokenOfLast: (options: PreparedOptions, token: String)?

  /// The product token of downloads with those options.
  mutating func token(for options: PreparedOptions, defaults: [HeaderField]) -> String {
    if let tokenOfLast, tokenOfLast.options === options { return tokenOfLast.token }
    let userAgent = options.options.requestValue(ofHeader: "User-Agent", defaults: defaults) ?? ""
    let token = RobotsRules.productToken(of: userAgent)
    tokenOfLast = (options, token)
    return token
  }

  /// The policy of a site; nil if its file has to be fetched.
  func policy(_ key: Key, now: MonotonicInstant) -> Policy? {
    guard let found = known[key], now < found.until else { return nil }
    return found.policy
  }

  /// Makes the job in `slot` wait for a site's file. Returns the number of its download if that has to be started.
  mutating func wait(_ slot: Int, for key: Key) -> UInt64? {
    if let number = numbers[key] {
      fetches[number]?.waiting.insert(slot)
      return nil
    }
    lastNumber += 1
    numbers[key] = lastNumber
    fetches[lastNumber] = Fetch(key: key, waiting: [slot])
    return lastNumber
  }

  /// The number of the download that fetches a site's file.
  func number(of key: Key) -> UInt64? { numbers[key] }

  /// Ends the waiting of the job in `slot`. If it was the last, returns the number of the download, which is no longer needed.
  mutating func leave(_ slot: Int, _ key: Key) -> UInt64? {
    guard let number = numbers[key] else { return nil }
    fetches[number]?.waiting.remove(slot)
    return fetches[number]?.waiting.isEmpty == true ? number : nil
  }

  /// Stores the policy from download `number`, if any. Returns the slots that waited for it, sorted.
  mutating func conclude(_ number: UInt64, _ policy: Policy?, now: MonotonicInstant) -> [Int] {
    guard let fetch = fetches.removeValue(forKey: number) else { return [] }
    numbers[fetch.key] = nil
    if let policy { keep(policy, fetch.key, now) }
    return fetch.waiting.sorted()
  }

  /// The site of download `number`; nil if that has ended.
  func key(of number: UInt64) -> Key? { fetches[number]?.key }

  private mutating func keep(_ policy: Policy, _ key: Key, _ now: MonotonicInstant) {
    if let old = known.removeValue(forKey: key) { knownBytes -= old.policy.memoryBytes }
    let bytes = policy.memoryBytes
    if known.count >= Self.maximumCount || knownBytes + bytes > Self.maximumBytes {
      known.removeAll()
      knownBytes = 0
    }
    let key = Key(origin: URLOrigin(copying: key.origin), server: URLOrigin(copying: key.server), token: key.token)
    known[key] = (policy, now.advanced(by: policy.lasts))
    knownBytes += bytes
  }
}
