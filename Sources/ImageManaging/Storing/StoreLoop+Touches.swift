import ImageCaching
import ImagePrimitives
import Threads

/// Times of access: they wait for many to be written at once, and for nothing else.
extension StoreLoop {
  /// How long the time of access of a hit waits at most for being written, unless the store thread is busy.
  static let touchDelay = Duration.seconds(1)

  /// Caches of which times of access wait.
  struct Touched {
    private(set) var contexts: [LoadContext] = []
    /// When they are to be written; nil where there is nothing.
    private(set) var deadline: MonotonicInstant?

    mutating func add(_ context: LoadContext, delay: Duration = StoreLoop.touchDelay) {
      let latest = TimeSource.system.monotonic().advanced(by: delay)
      deadline = deadline.map { min($0, latest) } ?? latest
      if !contexts.contains(where: { $0.cache === context.cache }) { contexts.append(context) }
    }

    mutating func remove(_ context: LoadContext) {
      contexts.removeAll { $0.cache === context.cache }
      if contexts.isEmpty { deadline = nil }
    }
  }

  /// Notes that a cached image was used, where its time of access is out of date. What was read and decoded has cost so much that this
  /// waits for no others.
  func touch(_ flight: Flight, _ copy: CachedCopy) {
    guard flight.context.mode.writesDisk, case .entry(let cache, let key, _, let head, true) = copy.place else { return }
    guard cache.configuration.expireBy == .access else { return }
    guard head.accessedAt.advanced(by: ImageCache.touchInterval) <= flight.context.now else { return }
    touched.add(flight.context, delay: .zero)
    if cache.note([EntryTouch(key, head)]) >= ImageCache.touchLimit { writeTouches(flight.context) }
  }

  /// Writes what has waited long enough, or with `all` all that waits.
  func writeTouches(all: Bool = false) {
    guard let deadline = touched.deadline, all || deadline <= TimeSource.system.monotonic() else { return }
    for context in touched.contexts { writeTouches(context) }
  }

  func writeTouches(_ context: LoadContext) {
    touched.remove(context)
    inbox.whileWriting { context.writeTouches() }
  }
}

extension LoadContext {
  /// Writes the times of access that wait for it, which is best effort.
  func writeTouches() {
    do throws(CacheError) {
      try cache?.writeTouches()
    } catch {
      recordWarning("times of access were not written down: \(error)")
    }
  }
}

extension FlightDispatcher {
  /// Notes the times of access that a look-up has found out of date.
  ///
  /// The store thread writes them. Where it does not keep up, the caller does too: nothing is lost, what waits is bounded, and nobody
  /// waits for a thread that might wait for this one.
  func note(_ touches: [EntryTouch], _ context: LoadContext) {
    guard let waiting = context.cache?.note(touches), waiting > 0 else { return }
    let before = waiting - touches.count
    if before == 0 {
      inbox.mailbox.post(.touched(context))
    } else if before < ImageCache.touchLimit && waiting >= ImageCache.touchLimit {
      inbox.mailbox.post(.writeTouches(context))
    } else if waiting >= 2 * ImageCache.touchLimit {
      context.writeTouches()
    }
  }
}
