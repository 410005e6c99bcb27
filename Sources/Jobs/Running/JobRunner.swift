package import ImageManaging
package import Base
package import Reports

/// Runs prepared jobs, one after another, over one shared manager.
package final class JobRunner {
  private let manager: ImageManager
  private let version: String
  private let control: RunControl
  private let time: TimeSource
  /// The clock that measures the time for pictures.
  var pictureClock: () -> MonotonicInstant = ContactSheet.processorTime
  /// The memory layers of earlier jobs: jobs with the same limits share one.
  private var memories: [Job.Cache.Memory: ImageMemory] = [:]

  /// Creates a runner over `manager`, which may also be used for other loads.
  ///
  /// - Parameters:
  /// - version: prewarm's version, for reports.
  /// - control: stops the run from any thread.
  package init(manager: ImageManager, version: String, control: RunControl, time: TimeSource = .system) {
    self.manager = manager
    self.version = version
    self.control = control
    self.time = time
  }

  /// Runs a job to its end and returns its report. Reports that grow during the run are then complete; others aren't
  /// written yet.
  ///
  /// - Parameter onMiss: for a dry run: called with the URL of every entry that would be fetched, once for each variant
  ///   and edge; nothing is fetched.
  package func run(
    _ prepared: PreparedJob,
    progress: (any JobProgress)? = nil,
    onMiss: ((UnsafeRawBufferPointer) -> Void)? = nil
  ) -> FinishedReport {
    let execution = JobExecution(
      prepared,
      over: manager,
      version: version,
      control,
      time,
      memory: prepared.job.cache.memory.map(memoryLayer),
      progress: progress,
      onMiss: onMiss
    )
    return execution.run(pictureClock: pictureClock)
  }

  private func memoryLayer(_ limits: Job.Cache.Memory) -> ImageMemory {
    if let known = memories[limits] { return known }
    let memory = ImageMemory(maxCost: limits.maxCost, maxCount: limits.maxCount)
    memories[limits] = memory
    return memory
  }
}
