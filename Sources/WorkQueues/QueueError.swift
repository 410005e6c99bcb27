#if Queue
public import RedisClient

/// Why a queue cannot be written or read; waiting does not help.
public enum QueueError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Redis refuses.
  case redis(RedisError)
  /// The queue has been filled, or is being filled, with another job.
  case holdsAnotherJob(QueueLocation)
  /// What was written when the queue was begun is not what would be written now.
  case manifestsChanged(QueueLocation)
  /// What the queue's keys hold was not written by prewarm, or by another version of it.
  case unreadable(QueueLocation, what: String)
  /// An entry of the manifest of that name is longer than ``QueuedMessage/maximumURLBytes``.
  case entryTooLong(manifest: String, line: UInt64)
  /// The caller did not want to wait any longer.
  case interrupted

  /// One sentence: what, where, what to do.
  public var description: String {
    switch self {
    case .redis(let error): error.description
    case .holdsAnotherJob(let location):
      "\(location) holds another job, or the same one with other contents; finish it, replace it, or choose another name"
    case .manifestsChanged(let location):
      "\(location) was begun with other entries: the job's manifests have changed since; replace the queue"
    case .unreadable(let location, let what): "\(location) cannot be read: \(what); replace it, or choose another name"
    case .entryTooLong(let manifest, let line):
      "the URL in line \(line) of \(manifest) is longer than \(QueuedMessage.maximumURLBytes) bytes, which no queue takes; "
        + "shorten or remove it"
    case .interrupted: "stopped while waiting for the queue"
    }
  }
}
#endif
