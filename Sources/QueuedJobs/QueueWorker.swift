#if Queue
public import WarmJobs
import ImageCaching
import ImageDownloading
public import ImageManaging
import ImagePrimitives
import RedisClient
import Reports
import Synchronization
import Threads
public import WorkQueues

/// Processes the job in a queue, together with any number of other workers, until nothing is left.
///
/// The job comes from the queue and is validated like a file; its cache, paths and variables are this machine's. Manifests,
/// reports, `fail-on` and `prefetch.deadline` matter only to the enqueuer.
public final class QueueWorker {
  public struct Options: Sendable {
    /// Whether to wait for another job after one is done. Default: false.
    public var keepsWaiting = false
    public var consuming = QueueConsumer.Options()

    /// Creates the default options.
    public init() {}

    /// Sets how long a worker may be silent before others take its messages, from a duration as in job files. Returns false for
    /// other text and for less than a second.
    public mutating func setTakeOverAfter(_ text: String) -> Bool {
      guard let duration = Quantities.duration(text), duration >= .seconds(1) else { return false }
      consuming.takeOverAfter = duration
      consuming.takeOverInterval = min(consuming.takeOverInterval, duration / 2)
      return true
    }
  }

  /// The reason why a worker couldn't start.
  public enum StartError: Error {
    /// The queue or the job in it can't be used.
    case queue(QueueJobError)
    /// The job is invalid here: for example, a variable is not set on this machine.
    case jobFile(JobFileErrors)
    /// A cache or another store of the job can't be opened.
    case job(name: String, JobError)
  }

  private static let leastLookAhead = 128
  /// The maximum number of entries of a message, which are all of one host.
  private static let entriesOfOneHost = 64
  private static let pollInterval = Duration.milliseconds(500)
  /// How long to wait for Redis at the end, after transfers in flight.
  private static let patience = Duration.seconds(2)
  /// Shorter than a consumer's, since an idle worker must end soon after a signal.
  private static let followerTimeouts = RedisConnection.Timeouts(connect: .seconds(2), answer: .seconds(5))

  private let location: QueueLocation
  private let manager: ImageManager
  private let overrides: [JobOverride]
  private let environment: [String: String]
  private let options: Options
  private let control: RunControl
  private let note: (String) -> Void
  private let follower: RetryingFollower
  private let time = TimeSource.system

  /// A worker for the queue at `location`.
  ///
  /// - Parameters:
  ///   - manager: loads the images; during a job, its downloader uses the job's limits.
  ///   - overrides: this machine's settings over the job.
  ///   - environment: the source of the job's variables.
  ///   - note: called when it waits for a job.
  ///   - warn: called with the reason if it keeps waiting for Redis, and with what it can't share with other workers.
  public init(
    _ location: QueueLocation,
    manager: ImageManager,
    overrides: [JobOverride],
    environment: [String: String],
    options: Options,
    control: RunControl,
    note: @escaping (String) -> Void,
    warn: @escaping (String) -> Void
  ) {
    (self.location, self.manager, self.overrides, self.environment) = (location, manager, overrides, environment)
    (self.options, self.control, self.note) = (options, control, note)
    let queue = QueueFollower(location, timeouts: Self.followerTimeouts)
    follower = RetryingFollower(follower: queue, control: control, note: warn)
  }

  /// Works until the queue is drained, a signal comes, or it fails; calls `jobEnded` after each job.
  public func run(progress: (any JobProgress)?, jobEnded: (WorkerSummary) -> Void) throws(StartError) {
    var last: OpenQueue?
    while true {
      let queue: OpenQueue
      do throws(QueueJobError) {
        queue = try nextQueue(after: last)
      } catch {
        throw .queue(error)
      }
      let summary = try work(queue, progress)
      jobEnded(summary)
      guard summary.ending == .drained || summary.ending == .replaced, options.keepsWaiting else { return }
      last = queue
    }
  }

  /// Waits for a queue with another filling than `last`.
  private func nextQueue(after last: OpenQueue?) throws(QueueJobError) -> OpenQueue {
    var isNoted = false
    while true {
      let queue = try follower.retrying { follower throws(QueueError) in try follower.open() }
      if let queue, queue != last { return queue }
      if !isNoted { note("\(location) has no \(last == nil ? "" : "other ")job yet: waiting for one") }
      isNoted = true
      try follower.sleep(Self.pollInterval)
    }
  }

  private func job(in queue: OpenQueue) throws(StartError) -> Job {
    let text: QueuedJobText
    do throws(QueuedJobText.FormatError) {
      text = try QueuedJobText(decoding: queue.job.contents)
    } catch {
      throw .queue(.unreadable(location, error.message))
    }
    let job: Job
    do throws(JobFileErrors) {
      job = try text.job(overrides, environment: environment)
    } catch {
      throw .jobFile(error)
    }
    guard max(1, job.requestVariants.count) == queue.job.variantCount else {
      throw .queue(.unreadable(location, "its number of variants differs from the job's"))
    }
    return job
  }

  private func work(_ queue: OpenQueue, _ progress: (any JobProgress)?) throws(StartError) -> WorkerSummary {
    let job = try job(in: queue)
    let stores: JobStores
    do throws(JobError) {
      stores = try JobStores(job)
    } catch {
      throw .job(name: job.name, error)
    }
    var surroundings = JobSession.Surroundings(time: time)
    surroundings.memory = job.cache.memory.map { ImageMemory(maxCost: $0.maxCost, maxCount: $0.maxCount) }
    let session = JobSession(stores, over: manager, surroundings)
    let consumer: QueueConsumer
    let rates: WorkerRates
    let refusal = RateRefusal()
    do throws(ThreadError) {
      rates = try WorkerRates(location, limits: session.limits, of: manager.downloader) { refusal.set($0) }
      consumer = try QueueConsumer(queue, options: options.consuming)
    } catch {
      throw .queue(.noThread("\(error)"))
    }
    let meter = session.meter()
    var isOver = false
    var notice = WaitNotice()
    let run = QueuedRun(
      consumer,
      maximumDeliveries: options.consuming.maximumDeliveries,
      variants: job.requestVariants,
      line: MessageLine(concurrency: job.prefetch.limits.concurrency, perHost: job.prefetch.limits.perHost),
      leastLookAhead: Self.leastLookAhead(of: job),
      blacklist: SharedBlacklist(
        context: session.context,
        cache: job.blacklist.isEnabled ? stores.writableCache : nil,
        timeToLive: job.cache.disk.blacklistTTL,
        hasVariants: !job.requestVariants.isEmpty
      ),
      time: time
    ) { [time, follower, control] run in
      rates.setHasWork(run.heldEntries > 0)
      if run.isInVain, !isOver {
        isOver = true
        control.endRun()
      }
      if let sentence = refusal.take() { follower.note(sentence) }
      let now = time.monotonic()
      guard meter.isDue(now: now) else { return }
      let wait: String? = if case .waiting(let why) = consumer.condition { why } else { nil }
      if let sentence = notice.sentence(wait, now: now) { follower.note(sentence) }
      guard let progress else { return }
      session.sampleMemory()
      let note = wait == nil ? session.pauseNote : "waiting for Redis"
      progress.show(meter.snapshot(totals: run.totals, receivedBytes: run.receivedBytes, expected: nil, note: note, now: now))
    }
    let end = session.load(run, deadline: nil, control)
    // Sends acknowledgements and gives back unfinished messages.
    consumer.stop(patience: Self.patience)
    if control.signal == nil {
      consumer.join()
      rates.stop()
    } else {
      // The sender of the signal may kill a process that takes much longer than its grace period for transfers.
      let now = time.monotonic()
      rates.stop(until: now.advanced(by: Self.patience))
      _ = consumer.join(afterSilence: Self.patience, since: now)
    }
    progress?.end()
    session.trim(isWhole: false)
    return summary(of: run, session, ending(run, end, consumer.takeNews().condition))
  }

  /// Enough entries for all transfers, even though each message has entries of a single host.
  private static func leastLookAhead(of job: Job) -> Int {
    let hosts = (job.prefetch.limits.concurrency + job.prefetch.limits.perHost - 1) / job.prefetch.limits.perHost
    return max(leastLookAhead, 2 * job.prefetch.limits.concurrency, entriesOfOneHost * (hosts + 1))
  }

  private func ending(
    _ run: QueuedRun,
    _ end: PrefetchRun.Summary,
    _ condition: QueueConsumer.Condition
  ) -> WorkerSummary.Ending {
    if let error = end.cacheError ?? end.sourceError as? CacheError { return .failed(error.jobSentence) }
    switch run.ending {
    case .refused(let why): return .failed(why)
    // A queue is deleted after its job is reported; then nothing is held.
    case .replaced: return condition == .replaced(isUndone: true) ? .replaced : .drained
    case nil: break
    }
    if let interruption = control.interruption { return .interrupted(interruption) }
    if case .refused(let why) = condition { return .failed(why) }
    return .drained
  }

  private func summary(of run: QueuedRun, _ session: JobSession, _ ending: WorkerSummary.Ending) -> WorkerSummary {
    var summary = WorkerSummary(
      name: session.job.name,
      ending: ending,
      totals: run.totals,
      receivedBytes: run.receivedBytes,
      duration: session.elapsed,
      warnings: session.context.warnings
    )
    if run.lostMessages > 0 {
      summary.warnings.append(
        "other workers took over \(counted(run.lostMessages, "message")) that this worker didn't renew in time"
      )
    }
    do throws(CacheError) {
      summary.cache = try session.describeCache(freshUntil: nil)?.cache
    } catch {
      summary.warnings.append(error.jobSentence)
    }
    return summary
  }
}

/// An error of Redis, passed from the rates' thread to the run's, which reports it.
private final class RateRefusal: Sendable {
  private let sentence = Mutex<String?>(nil)

  func set(_ new: String) { sentence.withLock { $0 = new } }

  func take() -> String? { sentence.withLock { $0.take() } }
}
#endif
