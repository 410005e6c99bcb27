import Base
import Synchronization

/// The thread of a prefetcher, which all its batches share.
final class PrefetchThread: Sendable {
  typealias Running = PrefetchRun.Running<RequestSource>

  private enum Message: Sendable {
    case start(HandedOver, number: Int, ended: @Sendable (PrefetchProgress) -> Void)
    case message(PrefetchRun.Message, number: Int)
    /// End after the batches.
    case close
  }

  /// A batch that crosses to the thread.
  private struct HandedOver: @unchecked Sendable {
    // Sendable because the caller has given its requests up (`sending`), so that only the thread uses the batch from here on.
    let running: Running
  }

  private let mailbox = Mailbox<Message>()
  private let lastNumber = Atomic(0)

  /// Starts the thread; throws if the system provides none.
  init() throws(ThreadError) {
    _ = try WorkerThread(name: "prefetch") { [mailbox] in Self.run(mailbox) }
  }

  deinit { mailbox.post(.close) }

  func nextNumber() -> Int { lastNumber.add(1, ordering: .relaxed).newValue }

  /// Runs a batch, and calls `ended` with its counts at its end, on the thread.
  func start(_ running: sending Running, number: Int, ended: @escaping @Sendable (PrefetchProgress) -> Void) {
    mailbox.post(.start(HandedOver(running: running), number: number, ended: ended))
  }

  /// Passes a message to a batch; no effect once it has ended.
  func post(_ message: PrefetchRun.Message, to number: Int) { mailbox.post(.message(message, number: number)) }

  private static func run(_ mailbox: Mailbox<Message>) {
    var batches: [Int: (running: Running, ended: @Sendable (PrefetchProgress) -> Void)] = [:]
    var messages: [Message] = []
    var isClosed = false
    while true {
      _ = mailbox.takeAll(into: &messages)
      for message in messages {
        switch message {
        case .start(let batch, let number, let ended): batches[number] = (batch.running, ended)
        case .message(let message, let number): batches[number]?.running.take(message)
        case .close: isClosed = true
        }
      }
      if isClosed, batches.isEmpty { return }
      var wake: MonotonicInstant?
      var hasMore = false
      for number in Array(batches.keys) {
        switch batches[number]!.running.step() {
        case .again: hasMore = true
        case .wait(let until, _): wake = min(wake ?? until, until)
        case .end:
          let (running, ended) = batches.removeValue(forKey: number)!
          ended(running.delegate.counts)
          // That may have released the prefetcher, whose message comes next.
          hasMore = true
        }
      }
      if !hasMore { _ = mailbox.wait(until: wake) }
    }
  }
}
