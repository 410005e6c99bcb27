import ImagePrimitives

/// What caches on the way to a host, or to one edge of it, had of the images that they were asked for a second time.
public struct RemoteCacheCount: Sendable, Equatable {
  /// The edge's name; nil where the job names no edges.
  public var edge: String?
  /// Answers that came from a cache.
  public var hits: UInt64 = 0
  /// Answers that came from no cache.
  public var misses: UInt64 = 0
  /// Answers that do not tell, or did not come.
  public var unknown: UInt64 = 0

  /// No answers so far.
  public init(edge: String?) { self.edge = edge }

  /// Answers in all.
  public var total: UInt64 { hits + misses + unknown }

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

  /// Counts an answer for the host of that index.
  mutating func record(_ status: RemoteCacheStatus, host: Int, edge: String?) {
    var list = counts[host] ?? []
    let place = list.firstIndex { $0.edge == edge } ?? list.endIndex
    if place == list.endIndex { list.append(RemoteCacheCount(edge: edge)) }
    list[place].add(status)
    counts[host] = list
  }

  /// What was counted of a host, in the order of its edges' names.
  func summary(ofHost host: Int) -> [RemoteCacheCount] {
    (counts[host] ?? []).sorted { ($0.edge ?? "") < ($1.edge ?? "") }
  }
}
