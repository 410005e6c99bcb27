import Glibc
import ImagePrimitives

/// What is counted of a host: flat, since there may be as many as ``HostTable/hostLimit``.
struct HostCounters {
  /// Where the host's name lies in ``HostTable/names``.
  var nameStart: Int
  var nameLength: Int
  var hash: UInt64
  var totals = Totals()
  /// Bytes of bodies received.
  var receivedBytes: UInt64 = 0
  var latency = LatencyHistogram()
}

/// Counters by host, found by the bytes of its name: an open-addressing hash table with linear probing over flat memory.
///
/// Manifests mostly name one host many times in a row, so the host found last is compared first. Hashing is Swift's seeded SipHash:
/// names come from outside, and chosen collisions must not slow a run.
struct HostTable {
  /// Further hosts are counted together; some 12 MB at most.
  static let hostLimit = 65_536

  private(set) var hosts: [HostCounters] = []
  /// How many entries were of hosts beyond the limit.
  private(set) var entriesBeyondLimit: UInt64 = 0
  private var names: [UInt8] = []
  /// Index + 1 into `hosts`.
  private var slots = ProbedTable<UInt32>(free: 0)
  private var last = -1

  /// The index of that host, which is added if it is new; nil if the name is empty or the table is full.
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

/// What caches on the way to a host, or to one edge of it, had of the images that they were asked for a second time.
public struct RemoteCacheCount: Sendable, Equatable {
  /// The edge's name; nil if the job names no edges.
  public var edge: String?
  public var hits: UInt64 = 0
  public var misses: UInt64 = 0
  /// Responses that don't say, or didn't come.
  public var unknown: UInt64 = 0

  public var total: UInt64 { hits + misses + unknown }

  /// Responses that say what the cache had.
  public var known: UInt64 { hits + misses }

  mutating func add(_ status: RemoteCacheStatus) {
    switch status {
    case .hit: hits += 1
    case .miss: misses += 1
    case .unknown: unknown += 1
    }
  }
}

/// Counts by host and edge; empty unless they were asked for.
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

  /// What was counted of a host, in the order of its edges' names.
  func summary(ofHost host: Int) -> [RemoteCacheCount] {
    (counts[host] ?? []).sorted { ($0.edge ?? "") < ($1.edge ?? "") }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether both hold the same bytes; the caller has compared the counts.
  @inline(__always)
  func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard let left = baseAddress, let right = other.baseAddress else { return true }
    return memcmp(left, right, count) == 0
  }
}
