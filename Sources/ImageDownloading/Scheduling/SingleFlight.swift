/// Work that is shared by all who wait for it.
@usableFromInline
package protocol SharedWork {
  associatedtype Identity: Hashable
  associatedtype Waiter

  /// Equal for work with the same result.
  var identity: Identity { get }
  /// In the order of their arrival.
  var waiters: [Waiter] { get set }
}

/// The work under way. An identity has at most one piece of work that can be joined: later requests wait for its result.
///
/// A cancelled waiter leaves, and the others keep waiting. The caller stops work without waiters; later requests start new.
///
/// Without `@usableFromInline`, other modules would neither specialise nor inline it.
@usableFromInline
package struct SingleFlight<Work: SharedWork> {
  @usableFromInline var slots: [Work?] = []
  @usableFromInline var free: [Int] = []
  /// The work that can be joined.
  @usableFromInline var joinable: [Work.Identity: Int] = [:]

  @inlinable package init() {}

  @inlinable package var count: Int { slots.count - free.count }

  /// The slot of the work that is added next.
  @inlinable package var nextSlot: Int { free.last ?? slots.count }

  @inlinable package var all: some Sequence<Int> { slots.indices.lazy.filter { slots[$0] != nil } }

  /// Whether no work can be joined.
  @inlinable package var isClosed: Bool { joinable.isEmpty }

  /// The slot of the work of that identity that can be joined; nil if there is none.
  @inlinable package func slot(of identity: Work.Identity) -> Int? { joinable[identity] }

  /// Adds work, of which look-ups find only one of an identity. Returns its slot.
  @inlinable package mutating func insert(_ work: Work, isJoinable: Bool = true) -> Int {
    let slot = nextSlot
    if free.popLast() == nil { slots.append(work) } else { slots[slot] = work }
    if isJoinable { joinable[work.identity] = slot }
    return slot
  }

  /// Lets others join the work in `slot` from now on.
  @inlinable package mutating func open(_ slot: Int) { joinable[self[slot].identity] = slot }

  /// From now on no request joins the work in `slot`.
  @inlinable package mutating func close(_ slot: Int) {
    guard let index = joinable.index(forKey: self[slot].identity), joinable.values[index] == slot else { return }
    joinable.remove(at: index)
  }

  @inlinable package mutating func closeAll() { joinable.removeAll(keepingCapacity: true) }

  /// Removes the waiters that `isLeaving` selects. If none is left, no request joins the work from now on.
  @inlinable package mutating func leave(_ slot: Int, where isLeaving: (Work.Waiter) -> Bool) -> [Work.Waiter] {
    let left = self[slot].waiters.filter(isLeaving)
    self[slot].waiters.removeAll(where: isLeaving)
    if self[slot].waiters.isEmpty { close(slot) }
    return left
  }

  /// Removes work that has ended; its slot may be reused at once.
  @inlinable package mutating func remove(_ slot: Int) -> Work {
    close(slot)
    defer {
      slots[slot] = nil
      free.append(slot)
    }
    return self[slot]
  }

  @inlinable package func contains(_ slot: Int) -> Bool { slot < slots.count && slots[slot] != nil }

  @inlinable package subscript(slot: Int) -> Work {
    // A call would allocate its frame and copy the work.
    @inline(__always) _read { yield slots[slot]! }
    @inline(__always) _modify { yield &slots[slot]! }
  }
}

extension SingleFlight: Sendable where Work: Sendable, Work.Identity: Sendable {}
