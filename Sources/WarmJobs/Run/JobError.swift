public import ImageCaching
public import Manifests
public import Reports

/// Why a job could not begin.
public enum JobError: Error, Sendable, CustomStringConvertible {
  case cache(CacheError)
  case manifest(ManifestError)
  case report(ReportError)
  /// The report that `fail-on.baseline` names.
  case baseline(ReportReadingError)
  /// A file that a key of the job names cannot be read.
  case unreadable(key: String, path: String, reason: String)
  /// The job requests several images of each entry, but a file holds one.
  case severalImages(perEntry: Int)

  /// The sentence of what is wrong.
  public var description: String {
    switch self {
    case .cache(let error): error.jobSentence
    case .manifest(let error): "\(error)"
    case .report(let error): "\(error)"
    case .baseline(let error): "fail-on.baseline: \(error)"
    case .unreadable(let key, let path, let reason): "\(key): \(path) cannot be read: \(reason)"
    case .severalImages(let count):
      "the job asks for each entry in \(count) ways, by variants and edges, and a file does not tell of which it is; import with a "
        + "job that has one of them"
    }
  }
}
