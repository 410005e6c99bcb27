#if Queue
public import WarmJobs
import ImageDownloading
import ImagePrimitives
import Manifests
import RedisClient
import Reports
public import WorkQueues

/// Puts a job into a queue for workers, and waits for what comes of it.
public final class JobEnqueuer {
  /// What is asked for beside the job.
  public struct Options: Sendable {
    /// Throws away what the queue holds; false by default.
    public var replaces = false
    /// Whether ``QueueReport`` is to be made of what comes: else results that wait for a report are not lost sight of. False by
    /// default.
    public var waits = false
    /// How the queue is written.
    public var writing = QueueWriter.Options()

    /// The defaults.
    public init() {}
  }

  /// What became of the queue.
  public enum Result: Sendable {
    /// It was filled with that much, or with the rest of it, and there is that to tell of the lists.
    case filled(QueueSize, ListRemarks)
    /// It was filled with this job before, with that much, and there was that to tell.
    case wasFull(QueueSize, ListRemarks)
  }

  private let job: Job
  private let text: QueuedJobText
  private let location: QueueLocation
  private let options: Options
  private let control: RunControl
  private let note: (String) -> Void

  /// - Parameters:
  ///   - path: the job file's path, `contents` its text and `overrides` what stands over it, of which `job` was made.
  ///   - note: told why it waits for Redis, where that lasts, and what is wrong with it.
  public init(
    _ job: Job,
    path: String,
    contents: [UInt8],
    overrides: [JobOverride],
    location: QueueLocation,
    options: Options = Options(),
    control: RunControl,
    note: @escaping (String) -> Void
  ) {
    self.job = job
    text = QueuedJobText(path: path, text: contents, overrides: overrides)
    (self.location, self.options, self.control, self.note) = (location, options, control, note)
  }

  /// Fills the queue: from its beginning, or from where an earlier try has come to.
  ///
  /// A queue whose job is done and reported on begins anew. See ``JobProgress`` for `progress`; what has become of entries it
  /// does not tell yet.
  public func fill(progress: (any JobProgress)?) throws(QueueJobError) -> Result {
    let follower = RetryingFollower(follower: QueueFollower(location), control: control, note: note, refusesReplicas: true)
    let found = try inspect(follower)
    let created = if case .sameJob(let created) = found { created } else { TimeSource.system.wall() }
    if let policy = try follower.retrying({ follower throws(QueueError) in try follower.evictionPolicy() }) {
      let cure = "set its maxmemory-policy, \(policy), to noeviction"
      note("\(location.address) throws away what a queue holds once its memory is full; \(cure)")
    }
    let manifests = try openManifests(now: created)
    if case .obsolete(let queue) = found {
      // Where somebody else has filled it anew meanwhile, that stays.
      try follower.retrying { follower throws(QueueError) in
        if let queue { try follower.delete(queue) } else { try follower.delete() }
      }
    }
    let meter = ProgressMeter(jobName: job.name, start: TimeSource.system.monotonic())
    var notice = WaitNotice()
    let show = { [job, note] (phase: String, wait: RedisError?) in
      let now = TimeSource.system.monotonic()
      if let sentence = notice.sentence(wait?.description, now: now) { note(sentence) }
      guard let progress, meter.isDue(now: now) else { return }
      let variants = max(1, job.requestVariants.count)
      let expected = manifests.reader.expectedEntries.map { $0 * variants }
      progress.show(meter.snapshot(totals: Totals(), receivedBytes: 0, expected: expected, note: phase, now: now))
    }
    defer { progress?.end() }
    let writer = QueueWriter(location, options: options.writing) { [control] wait in
      switch wait {
      case .forRedis(let error): show("waiting for Redis", error)
      case .forWorkers(let entries): show("the queue holds \(grouped(entries)) URLs: waiting for workers to finish some", nil)
      }
      return control.signal == nil
    }
    let queued = QueuedJob(
      contents: text.encoded,
      digest: text.digest,
      variantCount: max(1, job.requestVariants.count),
      created: created
    )
    if case .sealed(let size) = try beginning(writer, queued, follower) {
      return .wasFull(size, try follower.retrying { follower throws(QueueError) in try follower.remarks() })
    }
    let filling = QueueFilling(job: job, manifests: manifests, writer: writer, control: control) { read in
      show("\(grouped(read)) URLs put into the queue", nil)
    }
    let downloader: ImageDownloader
    do throws(DownloaderError) {
      downloader = try ImageDownloader()
    } catch {
      throw .noThread(error.message)
    }
    defer { downloader.shutDown() }
    let (size, remarks) = try manifests.fetching(with: downloader) { () throws(QueueJobError) in try filling.fill() }
    return .filled(size, remarks)
  }

  /// What the queue holds before anything is written.
  private enum Found {
    case nothing
    /// What makes way: that filling, or whatever there is.
    case obsolete(OpenQueue?)
    /// This job, which was put there first at that time: what counts from then on counts from there.
    case sameJob(Timestamp)
  }

  private func inspect(_ follower: RetryingFollower) throws(QueueJobError) -> Found {
    if options.replaces { return .obsolete(nil) }
    let queue = try follower.retrying { follower throws(QueueError) in try follower.open() }
    let progress = try follower.retrying { follower throws(QueueError) in try follower.progress() }
    guard let queue, let progress else { return .nothing }
    if progress.isDrained, progress.isReported { return .obsolete(queue) }
    guard queue.job.digest == text.digest else { throw conflict(with: queue, progress) }
    if progress.isDrained, !options.waits { throw .unreported(location) }
    let readsStandardInput = job.manifests.contains(where: \.isStandardInput)
    if readsStandardInput, !progress.isSealed { throw .standardInputIsGone(location) }
    return .sameJob(queue.job.created)
  }

  private func openManifests(now: Timestamp) throws(QueueJobError) -> JobManifests {
    do throws(JobError) {
      return try JobManifests(job, spoolDirectory: temporaryFolder(), makesRequests: true, now: now)
    } catch {
      throw .job(error)
    }
  }

  private func beginning(
    _ writer: QueueWriter,
    _ queued: QueuedJob,
    _ follower: RetryingFollower
  ) throws(QueueJobError) -> QueueWriter.Beginning {
    do throws(QueueError) {
      return try writer.begin(queued)
    } catch {
      // Somebody else was quicker.
      if case .holdsAnotherJob = error,
        let queue = try follower.retrying({ follower throws(QueueError) in try follower.open() }),
        let progress = try follower.retrying({ follower throws(QueueError) in try follower.progress() })
      {
        throw conflict(with: queue, progress)
      }
      throw error == .interrupted ? .interrupted : .queue(error)
    }
  }

  private func conflict(with queue: OpenQueue, _ progress: QueueProgress) -> QueueJobError {
    .holdsAnotherJob(
      location,
      held: queue.job.title,
      offered: text.title,
      done: progress.finalEntries,
      of: progress.written.entries
    )
  }
}
#endif
