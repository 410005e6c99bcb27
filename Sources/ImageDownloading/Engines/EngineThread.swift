import Base
import Synchronization

/// An engine on a thread of its own, in addition to the one of the transfer thread.
///
/// Transfers that start travel to it in batches, and what it records travels back by the loop's inbox.
///
/// `@unchecked Sendable`: its thread uses the engine, except while the transfer thread has halted it and uses the engine itself; the
/// transfer thread uses the outbox.
final class EngineThread: @unchecked Sendable {
  /// `@unchecked Sendable`: a transfer belongs to the engine from its start to its end.
  enum Command: @unchecked Sendable {
    case start(Transfer)
    case setMaximumConnections(Int)
    case halt
    case end
  }

  let engine: TransferEngine
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
    engine = try TransferEngine(number: number, wakeDescriptor: wake.descriptor, time: time)
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

  /// Stops a transfer, after which the engine stays halted until ``resume()``: others often follow.
  func stop(_ transfer: Transfer) { whileHalted { $0.stop(transfer) } }

  /// Uses the engine while its thread is halted.
  func whileHalted(_ body: (TransferEngine) -> Void) {
    halt()
    // Transfers may have started since it was halted.
    if !outbox.isEmpty {
      for command in outbox { apply(command) }
      outbox.removeAll(keepingCapacity: true)
      engine.actOnTime()
    }
    body(engine)
  }

  private func halt() {
    guard !hasHalted else { return }
    hasHalted = true
    outbox.append(.halt)
    flush()
    isHalted.wait { $0 ? () : nil }
  }

  /// Lets a halted engine continue.
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
      let isWoken = engine.poll(milliseconds: engine.sleepMilliseconds()) { meter.engineWoke(engine.number, at: $0) }
      if isWoken, commands.takeAll(into: &messages) {
        for message in messages {
          if case .end = message { return meter.engineSleeps(engine.number, hasTransfers: false) }
          apply(message)
        }
        messages.removeAll(keepingCapacity: true)
        engine.actOnTime()
      }
      report()
      meter.engineSleeps(engine.number, hasTransfers: engine.running > 0)
    }
  }

  private func apply(_ command: Command) {
    switch command {
    case .start(let transfer): engine.start(transfer)
    case .setMaximumConnections(let count): engine.setMaximumConnections(count)
    case .halt:
      // A transfer that libcurl hasn't begun still has the figures of its handle's last one.
      engine.actOnTime()
      isHalted.withLock(waking: .all) { $0 = true }
      isHalted.wait { $0 ? nil : () }
    case .end: break
    }
  }

  private func report() {
    var report = EngineReport(engine.number)
    engine.record.takeProgress { report.progress.append($0) }
    let conclude = { (transfer: Transfer, outcome: TransferOutcome) in report.ended.append((transfer.request, outcome)) }
    engine.concludeEnded(conclude)
    engine.checkTimeLimits(conclude)
    report.take(engine.record)
    guard !report.isEmpty || report.openedConnections != reportedConnections else { return }
    reportedConnections = report.openedConnections
    inbox.post(.report(report))
  }
}

/// The engines of other threads than the transfer thread, which starts them when they are needed first and ends them.
final class EngineThreads: Sendable {
  private let threads = Mutex<[EngineThread]>([])

  func add(_ thread: EngineThread) { threads.withLock { $0.append(thread) } }

  var runOnCurrentThread: Bool { threads.withLock { $0.contains(where: \.isCurrent) } }

  /// Releases them, which have ended.
  func removeAll() { threads.withLock { $0.removeAll() } }
}

/// What an engine has recorded in one iteration.
///
/// `@unchecked Sendable`: what it refers to belongs to its receiver.
struct EngineReport: @unchecked Sendable {
  let engine: Int
  private(set) var advanced: [TransferRecord.Advance] = []
  private(set) var streamed: [TransferRecord.Streamed] = []
  var progress: [TransferRecord.Progress] = []
  var ended: [(request: TransferRecord.Request, outcome: TransferOutcome)] = []
  private(set) var cookiesSet = 0
  /// Connections opened so far.
  private(set) var openedConnections = 0

  init(_ engine: Int) { self.engine = engine }

  var isEmpty: Bool { advanced.isEmpty && streamed.isEmpty && progress.isEmpty && ended.isEmpty && cookiesSet == 0 }

  /// Moves the record's contents here.
  mutating func take(_ record: TransferRecord) {
    swap(&advanced, &record.advanced)
    swap(&streamed, &record.streamed)
    openedConnections = record.openedConnections
    swap(&cookiesSet, &record.cookiesSet)
  }
}
