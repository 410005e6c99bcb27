import Base
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Base

@Suite struct MailboxTests {
  @Test func `one sender's messages arrive in order`() throws {
    let mailbox = Mailbox<Int>()
    let sender = try WorkerThread(name: "sender") { (0..<10_000).forEach(mailbox.post) }
    var received: [Int] = []
    var batch: [Int] = []
    while received.count < 10_000 {
      if mailbox.takeAll(into: &batch) { received += batch } else { _ = mailbox.wait() }
    }
    sender.join()
    #expect(received == Array(0..<10_000))
  }

  @Test func `a wait for many messages ends with the last one`() throws {
    let mailbox = Mailbox<Int>()
    let sender = try WorkerThread(name: "sender") { (0..<64).forEach(mailbox.post) }
    #expect(mailbox.wait(for: 64) == .messages)
    var batch: [Int] = []
    #expect(mailbox.takeAll(into: &batch) && batch == Array(0..<64))
    sender.join()
  }

  @Test func `a message that wakes ends a wait for many, posted before it or during it`() throws {
    let mailbox = Mailbox<Int>()
    mailbox.post(contentsOf: [1], wakes: true)
    #expect(mailbox.wait(for: 64) == .messages)
    var batch: [Int] = []
    #expect(mailbox.takeAll(into: &batch) && batch == [1])
    let sender = try WorkerThread(name: "sender") { mailbox.post(contentsOf: [2], wakes: true) }
    #expect(mailbox.wait(for: 64) == .messages)
    sender.join()
  }

  @Test func `a wait for many messages ends at its deadline with fewer`() {
    let mailbox = Mailbox<Int>()
    mailbox.post(7)
    #expect(mailbox.wait(for: 2, until: TimeSource.system.monotonic().advanced(by: .milliseconds(2))) == .timeout)
    var batch: [Int] = []
    #expect(mailbox.takeAll(into: &batch) && batch == [7])
    mailbox.post(contentsOf: [8, 9])
    #expect(mailbox.wait(for: 2) == .messages)
  }

  @Test func `a wait ends at its deadline without a message`() {
    let mailbox = Mailbox<Int>()
    let deadline = TimeSource.system.monotonic().advanced(by: .milliseconds(2))
    #expect(mailbox.wait(until: deadline) == .timeout)
    #expect(TimeSource.system.monotonic() >= deadline)
  }

  @Test func `a wait ends when the other descriptor is readable`() {
    let mailbox = Mailbox<Int>()
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    defer { ends.forEach { _ = close($0) } }
    #expect(write(ends[1], "x", 1) == 1)
    #expect(mailbox.wait(orReadable: ends[0]) == .descriptorReady)
    mailbox.post(1)
    #expect(mailbox.wait(orReadable: ends[0]) == .messages)
  }

  @Test func `a message posted before the wait ends it at once`() {
    let mailbox = Mailbox<Int>()
    mailbox.post(7)
    #expect(mailbox.wait() == .messages)
    var batch: [Int] = []
    #expect(mailbox.takeAll(into: &batch) && batch == [7])
  }
}

extension MailboxTests {
  @Test func `without a wake-up descriptor messages and deadlines still arrive`() throws {
    let mailbox = Mailbox<Int>(withoutEvent: ())
    let sender = try WorkerThread(name: "sender") { (0..<100).forEach(mailbox.post) }
    var received: [Int] = []
    var batch: [Int] = []
    while received.count < 100 {
      if mailbox.takeAll(into: &batch) { received += batch } else { _ = mailbox.wait() }
    }
    sender.join()
    #expect(received == Array(0..<100))
    let deadline = TimeSource.system.monotonic().advanced(by: .milliseconds(25))
    while mailbox.wait(until: deadline) != .timeout {}
    #expect(TimeSource.system.monotonic() >= deadline)
  }
}

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
}
