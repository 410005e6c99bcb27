package import ImageCaching
package import Lists
package import Reports

/// The reason why a job couldn't start.
package enum JobError: Error, Sendable, CustomStringConvertible {
  case cache(CacheError)
  case manifest(ManifestError)
  /// The entries of a plan can't be read to their end, or not be written.
  case plan(ManifestError)
  case report(ReportError)
  /// The report of `fail-on.baseline`.
  case baseline(ReportReadingError)
  /// A file that a key of the job names can't be read.
  case unreadable(key: String, path: String, reason: String)
  /// Images can't be written in the format of `transform.format`.
  case transformFormat(String)
  /// The job requests several images per entry, but a file contains one.
  case severalImages(perEntry: Int)

  /// The error as one sentence.
  package var description: String {
    switch self {
    case .cache(let error): error.jobSentence
    case .manifest(let error), .plan(let error): "\(error)"
    case .report(let error): "\(error)"
    case .baseline(let error): "fail-on.baseline: \(error)"
    case .unreadable(let key, let path, let reason): "\(key): cannot read \(path): \(reason)"
    case .transformFormat(let reason): "transform.format: \(reason)"
    case .severalImages(let count):
      "the job requests each entry in \(count) ways (variants, edges), and a file doesn't show which one it belongs to; import with a "
        + "job that has only one"
    }
  }
}
