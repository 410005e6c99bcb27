#if Queue
public import WarmJobs
import ImageDownloading
import ImagePrimitives
import Manifests
import RedisClient
import Reports
public import WorkQueues

/// Puts a job into a queue for workers.
public final class JobEnqueuer {
  /// Options besides the job.
  public struct Options: Sendable {
    /// Whether to discard the contents of the queue. Default: false.
    public var replaces = false
    /// Whether a ``QueueReport`` will be made of the results. Default: false, which refuses to discard unreported
    /// results.
    public var waits = false
    /// Options for writing the queue.
    public var writing = QueueWriter.Options()

    /// Creates the default options.
    public init() {}
  }

  /// The result of ``fill(progress:)``.
  public enum Result: Sendable {
    /// The queue was filled or completed with that many entries, with these remarks on the lists.
    case filled(QueueSize, ListRemarks)
    /// The queue was complete before, with that many entries and these remarks.
    case wasFull(QueueSize, ListRemarks)
  }

  private let job: Job
  private let text: QueuedJobText
  private let location: QueueLocation
  private let options: Options
  private let control: RunControl
  private let note: (String) -> Void

  /// - Parameters:
  /// - path: the job file's path; `contents` is its text, and `overrides` the settings over it, from which `job` was
  ///   made.
  ///   - note: called with the reason if it keeps waiting for Redis, and with problems of the server.
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

  /// Fills the queue, or resumes an interrupted filling.
  ///
  /// A queue whose job is finished and reported is filled again. See ``JobProgress`` for `progress`; it doesn't include
  /// the outcomes of entries.
  public func fill(progress: (any JobProgress)?) throws(QueueJobError) -> Result {
    if !job.appliedLint.isOff { throw .lint }
    let follower = RetryingFollower(follower: QueueFollower(location), control: control, note: note, refusesReplicas: true)
    let found = try inspect(follower)
    let created = if case .sameJob(let created) = found { created } else { TimeSource.system.wall() }
    if let policy = try follower.retrying({ follower throws(QueueError) in try follower.evictionPolicy() }) {
      let cure = "set its maxmemory-policy to noeviction (now \(policy))"
      note("\(location.address) may evict the queue when its memory is full; \(cure)")
    }
    let manifests = try openManifests(now: created)
    if case .obsolete(let queue) = found {
      // Keep the queue if it was filled again in the meantime.
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
      case .forWorkers(let entries): show("the queue contains \(grouped(entries)) URLs: waiting for workers to finish some", nil)
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

  /// The contents of the queue before anything is written.
  private enum Found {
    case nothing
    /// Contents to discard: that filling, or anything if nil.
    case obsolete(OpenQueue?)
    /// This job, first put there at that time, from which durations such as `newer-than` count.
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
      // Another process was faster.
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
