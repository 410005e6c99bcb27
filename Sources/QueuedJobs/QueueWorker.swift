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

/// Works on the job in a queue, beside any number of others on other machines, until nothing is left.
///
/// The job comes from the queue and is checked as any; its cache, paths and variables are this machine's. Manifests, reports and
/// `fail-on` are the business of who enqueued it, and so is `prefetch.deadline`, which stops no worker.
public final class QueueWorker {
  /// What holds for one worker.
  public struct Options: Sendable {
    /// Whether it waits for another job when one is done; false by default.
    public var keepsWaiting = false
    /// How it takes messages.
    public var consuming = QueueConsumer.Options()

    /// The defaults.
    public init() {}

    /// Sets how long a message is another worker's that does not renew it, as a duration of a job file; false for any other text,
    /// and for less than a second.
    public mutating func setTakeOverAfter(_ text: String) -> Bool {
      guard let duration = Quantities.duration(text), duration >= .seconds(1) else { return false }
      consuming.takeOverAfter = duration
      consuming.takeOverInterval = min(consuming.takeOverInterval, duration / 2)
      return true
    }
  }

  /// Why a worker could not begin.
  public enum Refusal: Error {
    /// The queue or the job in it cannot be used.
    case queue(QueueJobError)
    /// The job has mistakes, such as a variable that this machine does not have.
    case mistakes(JobFileErrors)
    /// What the job needs cannot be opened.
    case job(name: String, JobError)
  }

  /// At least so many entries are held or asked for.
  private static let leastLookAhead = 128
  /// A message has so many entries at most, all of one host.
  private static let entriesOfOneHost = 64
  private static let pollInterval = Duration.milliseconds(500)
  /// How long Redis is waited for at the end, beyond what is in flight.
  private static let patience = Duration.seconds(2)
  /// For a job it is asked by whoever has nothing to do, and who has to end soon when a signal comes.
  private static let askingTimeouts = RedisConnection.Timeouts(connect: .seconds(2), answer: .seconds(5))

  private let place: QueuePlace
  private let manager: ImageManager
  private let overrides: [JobOverride]
  private let environment: [String: String]
  private let options: Options
  private let control: RunControl
  private let note: (String) -> Void
  private let asking: QueueAsking
  private let time = TimeSource.system

  /// A worker for the queue at `place`.
  ///
  /// - Parameters:
  ///   - manager: who loads; for the time of a job its downloader keeps to the job's limits.
  ///   - overrides: what this machine sets over the job.
  ///   - environment: where the job's variables come from.
  ///   - note: told that it waits for a job.
  ///   - warn: told why it waits for Redis, where that lasts, and what it cannot share with other workers.
  public init(
    _ place: QueuePlace,
    manager: ImageManager,
    overrides: [JobOverride],
    environment: [String: String],
    options: Options,
    control: RunControl,
    note: @escaping (String) -> Void,
    warn: @escaping (String) -> Void
  ) {
    (self.place, self.manager, self.overrides, self.environment) = (place, manager, overrides, environment)
    (self.options, self.control, self.note) = (options, control, note)
    let follower = QueueFollower(place, timeouts: Self.askingTimeouts)
    asking = QueueAsking(follower: follower, control: control, note: warn)
  }

  /// Works until the queue is drained, a signal comes, or it cannot go on; tells of each job when it is over.
  public func run(progress: (any JobProgress)?, jobEnded: (WorkerSummary) -> Void) throws(Refusal) {
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

  /// Waits for a queue that is filled with something else than `last`.
  private func nextQueue(after last: OpenQueue?) throws(QueueJobError) -> OpenQueue {
    var isTold = false
    while true {
      let queue = try asking.ask { follower throws(QueueError) in try follower.open() }
      if let queue, queue != last { return queue }
      if !isTold { note("\(place) holds no \(last == nil ? "" : "other ")job yet: waiting for one") }
      isTold = true
      try asking.sleep(Self.pollInterval)
    }
  }

  private func job(in queue: OpenQueue) throws(Refusal) -> Job {
    let text: QueuedJobText
    do throws(QueuedJobText.Problem) {
      text = try QueuedJobText(decoding: queue.job.contents)
    } catch {
      throw .queue(.unreadable(place, error.message))
    }
    let job: Job
    do throws(JobFileErrors) {
      job = try text.job(overrides, environment: environment)
    } catch {
      throw .mistakes(error)
    }
    guard max(1, job.entryVariants.count) == queue.job.variantCount else {
      throw .queue(.unreadable(place, "its number of variants is not the job's"))
    }
    return job
  }

  private func work(_ queue: OpenQueue, _ progress: (any JobProgress)?) throws(Refusal) -> WorkerSummary {
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
    do throws(ThreadRefusal) {
      rates = try WorkerRates(place, limits: session.limits, of: manager.downloader) { refusal.set($0) }
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
      variants: job.entryVariants.map(\.reported),
      line: MessageLine(concurrency: job.prefetch.limits.concurrency, perHost: job.prefetch.limits.perHost),
      leastLookAhead: Self.leastLookAhead(of: job),
      blacklist: SharedBlacklist(
        context: session.context,
        cache: job.blacklist.isEnabled ? stores.writableCache : nil,
        timeToLive: job.cache.disk.blacklistTTL,
        hasVariants: !job.entryVariants.isEmpty
      ),
      time: time
    ) { [time, asking, control] run in
      rates.setHasWork(run.heldEntries > 0)
      if run.isInVain, !isOver {
        isOver = true
        control.endRun()
      }
      if let sentence = refusal.take() { asking.note(sentence) }
      let now = time.monotonic()
      guard meter.isDue(now: now) else { return }
      let wait: String? = if case .waiting(let why) = consumer.condition { why } else { nil }
      if let sentence = notice.sentence(wait, now: now) { asking.note(sentence) }
      guard let progress else { return }
      session.sampleMemory()
      let note = wait == nil ? session.pauseNote : "waiting for Redis"
      progress.show(meter.snapshot(totals: run.totals, receivedBytes: run.receivedBytes, expected: nil, note: note, now: now))
    }
    let end = session.load(run, deadline: nil, control)
    // What is acknowledged is said, and what is not finished is given back.
    consumer.stop(patience: Self.patience)
    if control.signal == nil {
      consumer.join()
      rates.stop()
    } else {
      // Who asks for the end may kill what takes much longer than what is in flight was given.
      let now = time.monotonic()
      rates.stop(until: now.advanced(by: Self.patience))
      _ = consumer.join(afterSilence: Self.patience, since: now)
    }
    progress?.end()
    session.trim()
    return summary(of: run, session, ending(run, end, consumer.takeNews().condition))
  }

  /// How many entries are held at once: enough for all transfers, even though messages have entries of one host each.
  private static func leastLookAhead(of job: Job) -> Int {
    let hosts = (job.prefetch.limits.concurrency + job.prefetch.limits.perHost - 1) / job.prefetch.limits.perHost
    return max(leastLookAhead, 2 * job.prefetch.limits.concurrency, entriesOfOneHost * (hosts + 1))
  }

  private func ending(
    _ run: QueuedRun,
    _ end: PrefetchRun.Summary,
    _ condition: QueueConsumer.Condition
  ) -> WorkerSummary.Ending {
    if let error = end.cacheError ?? end.sourceError as? CacheError { return .failed("\(error)") }
    switch run.ending {
    case .refused(let why): return .failed(why)
    // It goes once its job is reported on; then nothing is held.
    case .replaced: return condition == .replaced(isHolding: true) ? .replaced : .drained
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
      summary.warnings.append("other workers took over \(counted(run.lostMessages, "message")) that this one was slow to renew")
    }
    do throws(CacheError) {
      summary.cache = try session.describeCache(freshUntil: nil)?.cache
    } catch {
      summary.warnings.append("\(error)")
    }
    return summary
  }
}

/// What Redis refuses of what workers share, from its thread to the one that reports it.
private final class RateRefusal: Sendable {
  private let sentence = Mutex<String?>(nil)

  func set(_ new: String) { sentence.withLock { $0 = new } }

  func take() -> String? { sentence.withLock { $0.take() } }
}
