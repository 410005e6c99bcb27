#if Queue
import Reports
public import WarmJobs
public import WorkQueues

/// Why a job cannot be put into a queue, worked, or waited for.
public enum QueueJobError: Error, Sendable, CustomStringConvertible {
  /// The queue cannot be used.
  case queue(QueueError)
  /// A manifest or a report of the job cannot be used.
  case job(JobError)
  /// The queue holds another job, of which that many URLs of all are done.
  case holdsAnotherJob(QueueLocation, held: JobTitle?, offered: JobTitle, done: UInt64, of: UInt64)
  /// What the queue holds is no job.
  case unreadable(QueueLocation, String)
  /// The queue holds the results of this very job, on which nobody has written reports.
  case unreported(QueueLocation)
  /// The queue holds a part of the job, and standard input cannot be read again from its beginning.
  case standardInputIsGone(QueueLocation)
  /// The job has more manifests than rows can name.
  case tooManyManifests(Int)
  /// The system gives no thread.
  case noThread(String)
  /// A signal came.
  case interrupted

  /// One sentence.
  public var description: String {
    switch self {
    case .queue(let error): "\(error)"
    case .job(let error): "\(error)"
    case .holdsAnotherJob(let location, let held, let offered, let done, let all):
      "\(location) holds job \(held.map { "\($0)" } ?? "of another version"), \(grouped(done)) of \(counted(all, "URL")) done, not \(offered)"
        + "\(held == offered ? " as it is now" : ""); wait for it (prewarm queue status), discard it with --replace, or choose another "
        + "queue with --name"
    case .unreadable(let location, let message): "\(location): \(message); replace the queue, or use the version that wrote it"
    case .unreported(let location):
      "\(location) holds this job's results, on which no report was written; write them with --wait, or begin anew with --replace"
    case .standardInputIsGone(let location):
      "\(location) holds a part of this job, and standard input cannot be read again to go on behind it; begin anew with --replace"
    case .tooManyManifests(let limit): "a queue takes entries of at most \(limit) manifests; join some of them"
    case .noThread(let sentence): sentence
    case .interrupted: "stopped by a signal"
    }
  }
}
#endif
