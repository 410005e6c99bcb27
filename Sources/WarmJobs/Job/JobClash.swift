import Glibc
import Reports

/// Why jobs cannot be run one after another, as one sentence: what one of them leaves behind, another one would write over.
public struct JobClash: Error, Sendable, Hashable, CustomStringConvertible {
  public let description: String
}

extension [Job] {
  /// Throws if two of the jobs write one file: a report.
  ///
  /// Paths are compared by their letters. What is no regular file, such as a pipe, may get several reports. So may standard
  /// output, where they are text, for GitHub or JSON Lines, which can follow one another.
  public func checkOutputs() throws(JobClash) {
    var writers: [String: JobOutput] = [:]
    for output in flatMap(\.outputs) where !isSpecialFile(output.path.absolute) {
      guard let other = writers.updateValue(output, forKey: output.path.normalized) else { continue }
      throw JobClash(
        description: "'\(output.path.written)' is \(other.title) and \(output.title); \(advice)"
      )
    }
    let printed = flatMap { job in job.reports.filter { $0.destination == .standardOutput }.map { (job, $0.format) } }
    guard printed.count > 1, let (job, format) = printed.first(where: { !$0.1.canFollowOthers }) else { return }
    throw JobClash(
      description: "the \(format.rawValue) report of \(job.title) goes to standard output, and so does that of another job; "
        + advice
    )
  }
}

private let advice = "give each a file of its own, or run the jobs one by one"

private struct JobOutput {
  let path: JobPath
  /// What it is, and of which job.
  let title: String
}

extension Job {
  fileprivate var outputs: [JobOutput] {
    reports.compactMap { target in
      if case .file(let path) = target.destination {
        JobOutput(path: path, title: "the \(target.format.rawValue) report of \(title)")
      } else {
        nil
      }
    }
  }

  /// Its name and file: two jobs may have one name.
  fileprivate var title: String { "the job '\(name)'" + (file.map { " (\($0))" } ?? "") }
}

extension ReportFormat {
  /// Whether reports of several jobs can stand one behind the other.
  fileprivate var canFollowOthers: Bool {
    switch self {
    case .text, .github, .jsonl: true
    case .json, .csv, .junit, .markdown, .html, .prometheus: false
    }
  }
}

/// Whether something other than a regular file is at `path`.
private func isSpecialFile(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
}
