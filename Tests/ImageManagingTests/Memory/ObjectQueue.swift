/// Objects, numbered from 0, in insertion order, and their total cost; the building block of eviction policies.
struct ObjectQueue {
  private(set) var cost = 0
  private(set) var count = 0
  private(set) var oldest: Int32?
  private var newest: Int32?
  private var links: [Link]

  private struct Link {
    var newer: Int32 = -1
    var older: Int32 = -1
    var cost = -1
  }

  init(objectCount: Int) { links = Array(repeating: Link(), count: objectCount) }

  func contains(_ object: Int32) -> Bool { links[Int(object)].cost >= 0 }

  /// The object inserted next; nil for the newest.
  func newer(than object: Int32) -> Int32? {
    let newer = links[Int(object)].newer
    return newer < 0 ? nil : newer
  }

  mutating func append(_ object: Int32, cost objectCost: Int) {
    links[Int(object)] = Link(newer: -1, older: newest ?? -1, cost: objectCost)
    if let newest { links[Int(newest)].newer = object } else { oldest = object }
    newest = object
    count += 1
    cost += objectCost
  }

  mutating func remove(_ object: Int32) {
    let link = links[Int(object)]
    if link.older < 0 { oldest = newer(than: object) } else { links[Int(link.older)].newer = link.newer }
    if link.newer < 0 { newest = link.older < 0 ? nil : link.older } else { links[Int(link.newer)].older = link.older }
    links[Int(object)] = Link()
    count -= 1
    cost -= link.cost
  }

  mutating func removeOldest() { if let oldest { remove(oldest) } }
}
