package import ImageManaging
package import Base
package import Reports
import Glibc
import Synchronization

/// Runs prepared jobs, one after another, over one shared manager.
package final class JobRunner {
  let manager: ImageManager
  let version: String
  let control: RunControl
  let time: TimeSource
  var pictureClock: () -> MonotonicInstant = ContactSheet.processorTime
  /// The memory layers of earlier jobs: jobs with the same limits share one.
  private var memories: [Job.Cache.Memory: ImageMemory] = [:]

  /// Creates a runner over `manager`, which may also be used for other loads; reports name the version.
  package init(manager: ImageManager, version: String, control: RunControl, time: TimeSource = .system) {
    (self.manager, self.version, self.control, self.time) = (manager, version, control, time)
  }

  /// Runs a job to its end and returns its report. Reports that grow during the run are then complete; others aren't written yet.
  ///
  /// - Parameter onMiss: makes it a dry run: called with the URL of every entry that would be fetched, once for each variant and
  ///   edge.
  package func run(
    _ prepared: PreparedJob,
    progress: (any JobProgress)? = nil,
    onMiss: ((UnsafeRawBufferPointer) -> Void)? = nil
  ) -> FinishedReport {
    JobExecution(prepared, by: self, progress: progress, onMiss: onMiss).run()
  }

  func memoryLayer(_ limits: Job.Cache.Memory) -> ImageMemory {
    if let known = memories[limits] { return known }
    let memory = ImageMemory(maxCost: limits.maxCost, maxCount: limits.maxCount)
    memories[limits] = memory
    return memory
  }
}

/// Stops the current run and those after it, from any thread.
package final class RunControl: Sendable {
  private struct State {
    var signal: Int32?
    var run: PrefetchRun?
  }

  private let state = Mutex(State())

  package init() {}

  /// The signal that requested the stop; nil if there was none.
  package var signal: Int32? { state.withLock { $0.signal } }

  package var isRunning: Bool { state.withLock { $0.run != nil } }

  package var interruption: Interruption? { signal.map { $0 == SIGINT ? .interrupt : .terminate } }

  /// Requests a stop because of `signal`: no requests are started, those in flight get their grace period.
  package func stop(signal: Int32) {
    let run = state.withLock { state in
      state.signal = state.signal ?? signal
      return state.run
    }
    run?.stop(gracefully: true)
  }

  /// Requests the end of the current run, which has become useless: no requests are started, those in flight get their
  /// grace period.
  func endRun() {
    let run = state.withLock { $0.run }
    run?.stop(gracefully: true)
  }

  /// Lets ``stop(signal:)`` stop `run` until `body` returns.
  func running<Result>(_ run: PrefetchRun, _ body: () -> Result) -> Result {
    let isStopped = state.withLock { state in
      state.run = run
      return state.signal != nil
    }
    if isStopped { run.stop(gracefully: true) }
    defer { state.withLock { $0.run = nil } }
    return body()
  }
}
