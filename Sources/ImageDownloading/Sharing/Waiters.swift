import ImagePrimitives

/// One of the downloads that share a job.
struct Waiter {
  let client: ClientState
  let id: UInt64
  var priority: Priority
  let sequence: Int64
  let wantsDetails: Bool
  /// Whether it came when the job was there already.
  var hasJoined = false
  /// Whether a transient failure is tried again for it.
  var mayRetry = true

  init(_ download: Download, client: ClientState) {
    self.client = client
    id = download.id
    priority = download.priority
    sequence = download.sequence
    wantsDetails = download.wantsDetails
  }

  var place: Waiters.Place { Waiters.Place(priority: priority, sequence: sequence) }

  func `is`(_ id: UInt64, of client: ClientState) -> Bool { self.id == id && self.client === client }
}

/// Those who share a job, never none; one alone costs no allocation.
struct Waiters {
  private var first: Waiter
  private var others: [Waiter] = []

  init(_ first: Waiter) { self.first = first }

  /// Whether there is just one.
  var isAlone: Bool { others.isEmpty }

  /// Whether a transient failure is tried again for any.
  var mayRetry: Bool { first.mayRetry || others.contains(where: \.mayRetry) }

  var wantsDetails: Bool { first.wantsDetails || others.contains(where: \.wantsDetails) }

  /// A place in the queue: a class, and a sequence within that.
  struct Place: Equatable {
    var priority: Priority
    var sequence: Int64

    func isBefore(_ other: Place) -> Bool {
      priority > other.priority || priority == other.priority && sequence < other.sequence
    }
  }

  /// The place of the one that would start first.
  var best: Place {
    others.reduce(first.place) { best, other in other.place.isBefore(best) ? other.place : best }
  }

  mutating func add(_ waiter: Waiter) { others.append(waiter) }

  /// Takes one out of several.
  mutating func remove(_ id: UInt64, of client: ClientState) -> Waiter? {
    if first.is(id, of: client), !others.isEmpty {
      defer { first = others.removeFirst() }
      return first
    }
    guard let place = others.firstIndex(where: { $0.is(id, of: client) }) else { return nil }
    return others.remove(at: place)
  }

  mutating func update(_ id: UInt64, of client: ClientState, _ change: (inout Waiter) -> Void) {
    if first.is(id, of: client) {
      change(&first)
    } else if let place = others.firstIndex(where: { $0.is(id, of: client) }) {
      change(&others[place])
    }
  }

  /// Takes out those for whom nothing is tried again, where others remain.
  mutating func removeThoseWithoutRetry() -> [Waiter] {
    let all = [first] + others
    let staying = all.filter(\.mayRetry)
    guard let next = staying.first, staying.count < all.count else { return [] }
    first = next
    others = Array(staying.dropFirst())
    return all.filter { !$0.mayRetry }
  }

  func forEach(_ body: (Waiter) -> Void) {
    body(first)
    for other in others { body(other) }
  }
}
