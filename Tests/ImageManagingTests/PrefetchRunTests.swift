import Base
import ImageDownloading
import Synchronization
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// A run with a real manager and a real server.
@Suite struct PrefetchRunTests {
  /// Provides URLs one by one, and records the outcomes.
  private final class List: PrefetchDelegate {
    let urls: [String]
    private let perBatch: Int
    private var next = 0
    var outcomes: [Int: [LoadOutcome]] = [:]
    /// Called when the run reports progress, with the number of entries read.
    var onProgress: (Int) -> Void = { _ in }

    init(_ urls: [String], perBatch: Int = 3) {
      self.urls = urls
      self.perBatch = perBatch
    }

    var sourceDescriptor: Int32? { nil }

    func read(_ batch: inout EntryBatch, maximum: Int) throws -> PrefetchSourceState {
      for index in next..<min(next + min(perBatch, maximum), urls.count) {
        try batch.append(urls[index], line: UInt64(index))
        next += 1
      }
      return next == urls.count ? .ended : .open
    }

    func finished(_ entry: Entry, _ completion: LoadCompletion) {
      #expect(entry.requestURL == Array(urls[Int(entry.line)].utf8))
      outcomes[Int(entry.line), default: []].append(completion.result.outcome)
    }

    func progressed() { onProgress(next) }

    /// The outcomes in order, exactly one per entry.
    var each: [LoadOutcome] {
      #expect(outcomes.count == urls.count && outcomes.values.allSatisfy { $0.count == 1 })
      return urls.indices.compactMap { outcomes[$0]?.first }
    }
  }

  private let origin: Origin
  private let manager: ImageManager
  private let context = LoadContext(
    cache: nil,
    download: .patient(),
    options: LoadOptions(mode: .bypass),
    startedAt: Timestamp(milliseconds: 0)
  )

  init() throws {
    origin = try Origin()
    origin.setFallback { _ in .body(SampleImages.jpeg(1), type: "image/jpeg") }
    manager = try ImageManager(ImageManager.Configuration())
  }

  @Test func `every request ends exactly once, whatever the batches`() {
    let list = List((0..<50).map { origin.url("/\($0).jpg") } + [origin.url("/0.jpg")])
    let summary = PrefetchRun(manager: manager, context: context).run(list)
    #expect(summary.sourceEnded && !summary.deadlinePassed)
    #expect(list.each.allSatisfy { $0 == .checked })
    manager.blocking.shutDown()
  }

  @Test func `a run stopped before its start makes no request`() {
    let list = List([origin.url("/1.jpg")])
    let run = PrefetchRun(manager: manager, context: context)
    run.stop(gracefully: true)
    #expect(!run.run(list).sourceEnded)
    #expect(list.outcomes.isEmpty && origin.requests.isEmpty)
    manager.blocking.shutDown()
  }

  @Test func `a run stopped immediately cancels pending requests and ends`() {
    let gate = origin.holdAll()
    let list = List((0..<5).map { origin.url("/\($0).jpg") }, perBatch: 5)
    let run = PrefetchRun(manager: manager, context: context)
    list.onProgress = { read in if read == 5 { run.stop(gracefully: false) } }
    #expect(run.run(list).sourceEnded)
    #expect(list.each.allSatisfy { $0 == .cancelled })
    gate.open()
    manager.blocking.shutDown()
  }
}

/// The state machine alone: no threads, no sockets, and a clock that only these tests advance.
@Suite struct PrefetchStateTests {
  /// An event at a time, or the action that then follows.
  private enum Step {
    case read(pending: Int, PrefetchSourceState)
    case completed(Int)
    case ready
    case paused(Bool)
    case stop
    case next(PrefetchState.Action, at: MonotonicInstant = start)
  }

  private static let start = MonotonicInstant(nanoseconds: 1_000)
  private static let later = start.advanced(by: .seconds(5))
  private static let (window, batch) = (PrefetchRun.largestWindow, PrefetchState.batchLimit)
  private static let readsAll = Step.next(.read(maximum: batch))
  private static let waits = Step.next(.wait(until: nil, forSource: false))

  private static let runs: [(String, [Step])] = [
    ("an empty source ends the run at once", [readsAll, .read(pending: 0, .ended), .next(.end)]),
    (
      "a run ends only when all pending requests have completed",
      [.read(pending: 3, .ended), waits, .completed(2), waits, .completed(1), .next(.end)]
    ),
    (
      "a run reads no further than its look-ahead window",
      [
        .read(pending: window - 10, .open), .next(.read(maximum: 10)), .read(pending: 10, .open), waits, .completed(1),
        .next(.read(maximum: 1)),
      ]
    ),
    (
      "a blocked source isn't read until it is ready",
      [.read(pending: 0, .blocked), .next(.wait(until: nil, forSource: true)), .ready, readsAll]
    ),
    (
      "running requests get five seconds before they are cancelled too",
      [
        .read(pending: 2, .open), .stop, .next(.cancel(includingRunning: false)), .next(.wait(until: later, forSource: false)),
        .next(.cancel(includingRunning: true), at: later), .next(.wait(until: nil, forSource: false), at: later), .completed(2),
        .next(.end, at: later),
      ]
    ),
    ("a stopped run reads nothing more", [.stop, .next(.cancel(includingRunning: false)), .next(.end)]),
    ("a paused run reads nothing until it is resumed", [.paused(true), waits, .paused(false), readsAll]),
  ]

  @Test(arguments: runs) private func `each action follows from the events`(name: String, steps: [Step]) {
    var state = PrefetchState(window: Self.window, deadline: nil)
    for (place, step) in steps.enumerated() {
      switch step {
      case .read(let pending, let source): state.read(pending: pending, source: source)
      case .completed(let count): state.completed(count)
      case .ready: state.sourceIsReady()
      case .paused(let isPaused): state.setPaused(isPaused)
      case .stop: state.stop(gracefully: true, now: Self.start)
      case .next(let action, let now): #expect(state.next(now: now) == action, "step \(place)")
      }
    }
  }

  @Test func `the deadline cancels everything once and waits for the completions`() {
    let (start, deadline) = (Self.start, Self.start.advanced(by: .seconds(1)))
    var state = PrefetchState(window: Self.window, deadline: deadline)
    state.read(pending: 2, source: .open)
    #expect(state.next(now: start) == .read(maximum: Self.batch))
    #expect(state.next(now: deadline) == .cancel(includingRunning: true))
    #expect(state.deadlinePassed)
    #expect(state.next(now: deadline) == .wait(until: nil, forSource: false))
    state.completed(2)
    #expect(state.next(now: deadline) == .end)
  }

  @Test func `a run complete at its deadline isn't interrupted`() {
    var state = PrefetchState(window: Self.window, deadline: Self.start)
    state.read(pending: 0, source: .ended)
    _ = state.next(now: Self.start)
    #expect(!state.deadlinePassed && state.sourceEnded)
  }
}

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
