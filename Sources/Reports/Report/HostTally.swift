import Glibc
import Base

/// The counters of a host, without references, since there may be ``HostTally/hostLimit`` of them.
struct HostCounters {
  /// The range of the host's name in ``HostTally/names``.
  var nameStart: Int
  var nameLength: Int
  var hash: UInt64
  var totals = OutcomeTotals()
  var receivedBytes: UInt64 = 0
  var latency = LatencyHistogram()
}

/// Counters by the name of a host: a hash table with open addressing and linear probing in contiguous memory. Manifests mostly
/// name one host many times in a row, so a look-up compares the last host first. Hashing is Swift's seeded SipHash: names come
/// from outside, and chosen collisions must not slow down a run.
struct HostTally {
  /// Further hosts are counted together; the table takes at most about 12 MB.
  static let hostLimit = 65_536

  private(set) var hosts: [HostCounters] = []
  /// How many entries belong to hosts beyond the limit.
  private(set) var entriesBeyondLimit: UInt64 = 0
  private var names: [UInt8] = []
  private var slots = ProbedTable<UInt32>(free: 0)
  private var last = -1

  /// Returns the index of a host, which is added if it is new; nil if the name is empty or the table is full.
  @inline(__always)
  mutating func index(of name: UnsafeRawBufferPointer) -> Int? {
    if last >= 0, isHost(last, named: name) { return last }
    return find(name)
  }

  @inline(__always)
  mutating func update(_ index: Int, _ body: (inout HostCounters) -> Void) { body(&hosts[index]) }

  /// The name of a host; bytes that aren't UTF-8 become U+FFFD.
  func name(_ index: Int) -> String {
    let host = hosts[index]
    return String(decoding: names[host.nameStart..<host.nameStart + host.nameLength], as: UTF8.self)
  }

  @inline(__always)
  private func isHost(_ index: Int, named name: UnsafeRawBufferPointer) -> Bool {
    let host = hosts[index]
    guard host.nameLength == name.count else { return false }
    return names.withUnsafeBytes { names in
      UnsafeRawBufferPointer(rebasing: names[host.nameStart..<host.nameStart + host.nameLength]).hasSameBytes(as: name)
    }
  }

  @inline(never)
  private mutating func find(_ name: UnsafeRawBufferPointer) -> Int? {
    guard !name.isEmpty else { return nil }
    var hasher = Hasher()
    hasher.combine(bytes: name)
    let hash = UInt64(truncatingIfNeeded: hasher.finalize())
    let slot = slots.index(hash: hash) { hosts[Int($0) - 1].hash == hash && isHost(Int($0) - 1, named: name) }
    if !slots[slot].isFree {
      last = Int(slots[slot]) - 1
      return last
    }
    guard hosts.count < Self.hostLimit else {
      entriesBeyondLimit += 1
      return nil
    }
    last = hosts.count
    hosts.append(HostCounters(nameStart: names.count, nameLength: name.count, hash: hash))
    names.append(contentsOf: name)
    _ = slots.insert(UInt32(hosts.count), at: slot) { [hosts] in hosts[Int($0) - 1].hash }
    return last
  }
}

/// Hits and misses of the remote caches of a host, or of one of its edges, for images that were requested a second time.
public struct RemoteCacheCount: Sendable, Equatable, Countable {
  /// The edge's name; nil if the job names no edges.
  public var edge: String?
  public var hits: UInt64 = 0
  public var misses: UInt64 = 0
  /// Responses without a cache status, and missing ones.
  public var unknown: UInt64 = 0

  static var counts: KeyValuePairs<StaticString, WritableKeyPath<RemoteCacheCount, UInt64>> {
    ["hit": \.hits, "miss": \.misses, "unknown": \.unknown]
  }

  public var total: UInt64 { hits + misses + unknown }
  public var known: UInt64 { hits + misses }

  mutating func add(_ status: RemoteCacheStatus) {
    switch status {
    case .hit: hits += 1
    case .miss: misses += 1
    case .unknown: unknown += 1
    }
  }
}

/// Counts by host and edge; empty unless remote caches were checked.
struct RemoteCacheTable {
  private var counts: [Int: [RemoteCacheCount]] = [:]

  /// Counts a response for the host of that index.
  mutating func record(_ status: RemoteCacheStatus, host: Int, edge: String?) {
    var list = counts[host] ?? []
    let index = list.firstIndex { $0.edge == edge } ?? list.endIndex
    if index == list.endIndex { list.append(RemoteCacheCount(edge: edge)) }
    list[index].add(status)
    counts[host] = list
  }

  /// The counts of a host, in the order of its edges' names.
  func summary(ofHost host: Int) -> [RemoteCacheCount] { (counts[host] ?? []).sorted { ($0.edge ?? "") < ($1.edge ?? "") } }
}

extension UnsafeRawBufferPointer {
  /// Whether both have the same bytes; the caller has compared the counts.
  @inline(__always)
  func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard let left = baseAddress, let right = other.baseAddress else { return true }
    return memcmp(left, right, count) == 0
  }
}
