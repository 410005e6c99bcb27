import Base
import Synchronization
import TestSupport
import Testing

@Suite struct WorkerThreadTests {
  @Test func `a thread is current only on itself, until it ends`() throws {
    let thread = Watched<WorkerThread?>(nil)
    let isCurrent = Mutex(false)
    let started = try WorkerThread(name: "test") {
      do {
        try thread.wait(for: "the thread") { $0 != nil }
        let own = thread.value
        isCurrent.withLock { $0 = own?.isCurrent ?? false }
      } catch {
        Issue.record(error)
      }
    }
    #expect(!started.isCurrent)
    thread.withLock { $0 = started }
    started.join()
    #expect(isCurrent.withLock { $0 } && !started.isCurrent)
  }

  @Test func `a thread that reuses an ended one's handle is another thread`() throws {
    let ended = try (0..<50).map { _ in
      let thread = try WorkerThread(name: "ended") {}
      thread.join()
      return thread
    }
    let count = Mutex(0)
    try WorkerThread(name: "later") { count.withLock { $0 = ended.filter(\.isCurrent).count } }.join()
    #expect(count.withLock { $0 } == 0)
  }
  @Test func `a timed join returns whether the thread has ended`() throws {
    let mayEnd = Watched(false)
    let thread = try WorkerThread(name: "slow") {
      do { try mayEnd.wait(for: "the end") { $0 } } catch { Issue.record(error) }
    }
    let past = MonotonicInstant(nanoseconds: 0)
    #expect(!thread.join(until: past, letsGo: false))
    mayEnd.withLock { $0 = true }
    #expect(thread.join(until: TimeSource.system.monotonic().advanced(by: .seconds(60)), letsGo: false))
    #expect(thread.join(until: past, letsGo: true))
  }
}
