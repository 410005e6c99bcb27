/// Queues whose members are places, numbers from 0, linked in one array.
///
/// Every operation is O(1). A place that is freed is given again, so that nothing is allocated once the array has its size.
struct LinkedQueues: Sendable {
  /// The ends of one queue, and what its members count and cost together.
  struct Queue: Sendable {
    fileprivate(set) var oldest: Int?
    fileprivate var newest: Int?
    fileprivate(set) var count = 0
    fileprivate(set) var cost = 0
  }

  private struct Link: Sendable {
    var cost: Int
    /// Of a free place: the next free one.
    var newer: Int?
    var older: Int?
  }

  private var links: [Link] = []
  private var firstFree: Int?

  /// A place that is in no queue yet.
  mutating func place(cost: Int) -> Int {
    let link = Link(cost: cost)
    guard let place = firstFree else {
      links.append(link)
      return links.count - 1
    }
    firstFree = links[place].newer
    links[place] = link
    return place
  }

  /// Gives back a place that is in no queue.
  mutating func free(_ place: Int) {
    links[place] = Link(cost: 0, newer: firstFree)
    firstFree = place
  }

  /// Makes a place that is in no queue the newest of one.
  mutating func append(_ place: Int, to queue: inout Queue) {
    links[place].newer = nil
    links[place].older = queue.newest
    if let newest = queue.newest { links[newest].newer = place } else { queue.oldest = place }
    queue.newest = place
    queue.count += 1
    queue.cost += links[place].cost
  }

  /// Takes a place out of the queue that it is in.
  mutating func unlink(_ place: Int, from queue: inout Queue) {
    let link = links[place]
    if let newer = link.newer { links[newer].older = link.older } else { queue.newest = link.older }
    if let older = link.older { links[older].newer = link.newer } else { queue.oldest = link.newer }
    queue.count -= 1
    queue.cost -= link.cost
  }
}
