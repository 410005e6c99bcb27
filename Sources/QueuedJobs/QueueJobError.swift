#if Queue
import Reports
public import WarmJobs
public import WorkQueues

/// The reason why a job can't be enqueued, processed, or waited for.
public enum QueueJobError: Error, Sendable, CustomStringConvertible {
  /// The queue can't be used.
  case queue(QueueError)
  /// A manifest or a report of the job can't be used.
  case job(JobError)
  /// The queue contains another job, with that many of all its URLs done.
  case holdsAnotherJob(QueueLocation, held: JobTitle?, offered: JobTitle, done: UInt64, of: UInt64)
  /// The contents of the queue aren't a job.
  case unreadable(QueueLocation, String)
  /// The queue contains the unreported results of this job.
  case unreported(QueueLocation)
  /// The queue contains a part of the job, and standard input can't be read again from its start.
  case standardInputIsGone(QueueLocation)
  /// The job has more manifests than rows can refer to.
  case tooManyManifests(Int)
  /// That manifest says more about its images than a queue carries.
  case expectations(manifest: String)
  /// The job judges the delivery of images, which workers don't report.
  case lint
  /// The system can't create a thread.
  case noThread(String)
  /// A signal arrived.
  case interrupted

  /// One sentence.
  public var description: String {
    switch self {
    case .queue(let error): "\(error)"
    case .job(let error): "\(error)"
    case .holdsAnotherJob(let location, let held, let offered, let done, let all):
      "\(location) contains job \(held.map { "\($0)" } ?? "of another version"), \(grouped(done)) of \(counted(all, "URL")) done, "
        + "not \(offered)\(held == offered ? " as it is now" : ""); wait for it (prewarm queue status), discard it with --replace, or "
        + "choose another queue with --name"
    case .unreadable(let location, let message): "\(location): \(message); replace the queue, or use the version that wrote it"
    case .unreported(let location):
      "\(location) contains unreported results of this job; write the reports with --wait, or discard the results with --replace"
    case .standardInputIsGone(let location):
      "\(location) contains a part of this job, and standard input can't be read again to add the rest; start over with --replace"
    case .tooManyManifests(let limit): "a queue takes at most \(limit) lists; combine some of them"
    case .expectations(let manifest):
      "a queue doesn't carry what \(manifest) expects of its images (sha256, width, height, bytes, format); "
        + "rename these columns or template variables, or use prewarm run"
    case .lint: "a queue doesn't carry the findings of lint; remove 'lint' and 'fail-on.lint', or use prewarm run"
    case .noThread(let sentence): sentence
    case .interrupted: "stopped by a signal"
    }
  }
}
#endif
