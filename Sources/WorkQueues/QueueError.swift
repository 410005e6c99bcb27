#if Queue
public import RedisClient

/// The reason why a queue can't be written or read; waiting doesn't help.
public enum QueueError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Redis refuses.
  case redis(RedisError)
  /// The queue was filled, or is being filled, with another job.
  case holdsAnotherJob(QueueLocation)
  /// The job's entries differ from those that the queue was started with.
  case manifestsChanged(QueueLocation)
  /// The keys of the queue weren't written by prewarm, or by another version of it.
  case unreadable(QueueLocation, what: String)
  /// An entry of that manifest is longer than ``QueuedMessage/maximumURLBytes``.
  case entryTooLong(manifest: String, line: UInt64)
  /// The caller stopped waiting.
  case interrupted

  /// One sentence: what, where, what to do.
  public var description: String {
    switch self {
    case .redis(let error): error.description
    case .holdsAnotherJob(let location):
      "\(location) contains another job, or the same one with different contents; finish it, replace it, or choose another name"
    case .manifestsChanged(let location):
      "\(location) was started with other entries, and the job's lists have changed since; replace the queue"
    case .unreadable(let location, let what): "cannot read \(location): \(what); replace it, or choose another name"
    case .entryTooLong(let manifest, let line):
      "the URL in line \(line) of \(manifest) is longer than \(QueuedMessage.maximumURLBytes) bytes, the maximum of a queue; "
        + "shorten or remove it"
    case .interrupted: "stopped while waiting for the queue"
    }
  }
}
#endif
