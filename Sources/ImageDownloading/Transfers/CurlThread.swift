import Base
import Synchronization

/// A loop on a thread of its own, in addition to the one of the transfer thread.
///
/// Transfers that start travel to it in batches, and what it records travels back by the scheduler's inbox.
///
/// `@unchecked Sendable`: its thread uses the loop, except while the transfer thread has halted it; that also uses the outbox.
final class CurlThread: @unchecked Sendable {
  /// `@unchecked Sendable`: a transfer belongs to the loop from its start to its end.
  enum Command: @unchecked Sendable {
    case start(Transfer)
    case setMaximumConnections(Int)
    case halt
    case end
  }

  let loop: CurlLoop
  private let commands: Mailbox<Command>
  private let inbox: Inbox
  private let meter: PipelineMeter
  private let isHalted = WaitableState(false)
  private var thread: WorkerThread?

  // Of the transfer thread:
  private var outbox: [Command] = []
  private var hasHalted = false

  /// Of its own thread: the connections that it has reported.
  private var reportedConnections = 0

  init(number: Int, inbox: Inbox, meter: PipelineMeter, time: TimeSource) throws(DownloaderError) {
    let wake: WakeEvent
    do throws(ThreadError) { wake = try WakeEvent() } catch { throw DownloaderError(message: "\(error)") }
    commands = Mailbox(event: wake)
    self.inbox = inbox
    self.meter = meter
    loop = try CurlLoop(number: number, wakeDescriptor: wake.descriptor, time: time)
    do throws(ThreadError) {
      thread = try WorkerThread(name: "transfer-\(number + 1)") { [unowned self] in run() }
    } catch {
      throw DownloaderError(message: "\(error)")
    }
  }

  var isCurrent: Bool { thread?.isCurrent == true }

  // MARK: The transfer thread's side

  /// Starts a transfer with the next ``flush()``.
  func start(_ transfer: Transfer) { outbox.append(.start(transfer)) }

  func setMaximumConnections(_ count: Int) { outbox.append(.setMaximumConnections(count)) }

  /// Sends the commands that were added since the last call.
  func flush() {
    guard !outbox.isEmpty else { return }
    commands.post(contentsOf: outbox)
    outbox.removeAll(keepingCapacity: true)
  }

  /// Uses the loop while its thread is halted, which it stays until ``resume()``: other uses often follow.
  func whileHalted(_ body: (CurlLoop) -> Void) {
    halt()
    // Transfers may have started since it was halted.
    if !outbox.isEmpty {
      for command in outbox { apply(command) }
      outbox.removeAll(keepingCapacity: true)
      loop.actOnTime()
    }
    body(loop)
  }

  private func halt() {
    guard !hasHalted else { return }
    hasHalted = true
    outbox.append(.halt)
    flush()
    isHalted.wait { $0 ? () : nil }
  }

  func resume() {
    guard hasHalted else { return }
    hasHalted = false
    isHalted.withLock(waking: .all) { $0 = false }
  }

  /// Ends the thread; nothing may run.
  func end() {
    resume()
    outbox.append(.end)
    flush()
    thread?.join()
  }

  // MARK: Its own thread

  private func run() {
    var messages: [Command] = []
    while true {
      let isWoken = loop.poll(milliseconds: loop.sleepMilliseconds()) { meter.loopWoke(loop.number, at: $0) }
      if isWoken, commands.takeAll(into: &messages) {
        for message in messages {
          if case .end = message { return meter.loopSleeps(loop.number, hasTransfers: false) }
          apply(message)
        }
        messages.removeAll(keepingCapacity: true)
        loop.actOnTime()
      }
      report()
      meter.loopSleeps(loop.number, hasTransfers: loop.running > 0)
    }
  }

  private func apply(_ command: Command) {
    switch command {
    case .start(let transfer): loop.start(transfer)
    case .setMaximumConnections(let count): loop.setMaximumConnections(count)
    case .halt:
      // A transfer that libcurl hasn't begun still has the figures of its handle's last one.
      loop.actOnTime()
      isHalted.withLock(waking: .all) { $0 = true }
      isHalted.wait { $0 ? nil : () }
    case .end: break
    }
  }

  private func report() {
    var report = CurlReport(loop.number)
    loop.takeReport(&report)
    guard !report.events.isEmpty || report.cookiesSet > 0 || report.openedConnections != reportedConnections else { return }
    reportedConnections = report.openedConnections
    inbox.post(.report(report))
  }
}

/// The loops of other threads than the transfer thread, which starts them when they are needed first and ends them.
final class CurlThreads: Sendable {
  private let threads = Mutex<[CurlThread]>([])

  func add(_ thread: CurlThread) { threads.withLock { $0.append(thread) } }

  var runOnCurrentThread: Bool { threads.withLock { $0.contains(where: \.isCurrent) } }

  /// Releases them, which have ended.
  func removeAll() { threads.withLock { $0.removeAll() } }
}
