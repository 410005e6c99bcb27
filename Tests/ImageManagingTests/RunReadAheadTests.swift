import Synchronization
import Testing

@testable import ImageManaging

@Suite struct RunReadAheadTests {
  private final class Counts: Sendable {
    let measured = Atomic(0)
    let started = Atomic(0)
  }

  @Test func `the index is measured and read once, outside of the lock that counts look-ups`() {
    let counts = Counts()
    let reader = Mutex<RunReadAhead?>(nil)
    // Under the lock, a count from within would trap or wait forever.
    let readAhead = RunReadAhead(
      beginning: {
        counts.measured.wrappingAdd(1, ordering: .relaxed)
        reader.withLock { $0 }?.note(10)
        return 3000
      },
      read: {
        counts.started.wrappingAdd(1, ordering: .relaxed)
        reader.withLock { $0 }?.note(10)
        return nil
      }
    )
    reader.withLock { $0 = readAhead }
    readAhead.note(1023)
    #expect(counts.measured.load(ordering: .relaxed) == 0)
    readAhead.note(1)
    #expect(counts.measured.load(ordering: .relaxed) == 1 && counts.started.load(ordering: .relaxed) == 0)
    readAhead.note(1965)
    #expect(counts.started.load(ordering: .relaxed) == 0)
    for _ in 0..<3 { readAhead.note(1) }
    #expect(counts.measured.load(ordering: .relaxed) == 1 && counts.started.load(ordering: .relaxed) == 1)
    reader.withLock { $0 = nil }
  }
}
