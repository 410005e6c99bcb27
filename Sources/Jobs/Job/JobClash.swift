import Glibc
import ImageCaching
import Lists
import Reports

/// The reason why the reports of jobs can't be written to their targets, as one sentence: one would replace another, or
/// an input of a job.
package struct JobClash: Error, Sendable, Hashable, CustomStringConvertible {
  package let description: String
}

extension [Job] {
  /// Throws if a report goes to a file that one of the jobs reads, into its cache, or to the file of another report.
  ///
  /// Files are compared by identity, regardless of links. Files that aren't regular, such as pipes, may receive several
  /// reports. So may standard output if the formats are text, GitHub or JSON Lines, which can be concatenated.
  package func checkOutputs() throws(JobClash) {
    var writers: [FileIdentity: JobOutput] = [:]
    let outputs = flatMap(\.outputs).filter { !isSpecialFile($0.path.absolute) }
    for output in outputs {
      guard let other = writers.updateValue(output, forKey: FileIdentity(output.path.absolute)) else { continue }
      throw JobClash(description: "\(output.title) and \(other.title) write to the same file '\(output.path.written)'; \(advice)")
    }
    for output in outputs { try check(output) }
    let printed = flatMap { job in job.reports.filter { $0.destination == .standardOutput }.map { (job, $0.format) } }
    guard printed.count > 1, let (job, format) = printed.first(where: { !$0.1.canFollowOthers }) else { return }
    throw JobClash(
      description: "the \(format.rawValue) report of \(job.title) and a report of another job both go to standard output; "
        + advice
    )
  }

  /// Throws if a report would replace an input of one of the jobs, or is inside a cache.
  private func check(_ output: JobOutput) throws(JobClash) {
    let identity = FileIdentity(output.path.absolute)
    func refuse(_ reason: String) -> JobClash {
      JobClash(description: "\(output.title) would replace '\(output.path.written)', which is \(reason); choose another file")
    }
    for job in self {
      if let input = job.inputs.first(where: { FileIdentity($0.path) == identity }) { throw refuse(input.title) }
      if job.manifests.contains(where: \.isStandardInput), FileIdentity(descriptor: STDIN_FILENO) == identity {
        throw refuse("standard input")
      }
      if let folder = job.cacheFolders.first(where: { FileIdentity.isInside(output.path.absolute, $0) }) {
        throw refuse("in the cache \(folder)")
      }
    }
    if let cache = cacheFolder(above: output.path.absolute) { throw refuse("in the cache \(cache)") }
  }
}

private let advice = "give each its own file, or run the jobs separately"

private struct JobOutput {
  let path: JobPath
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

  fileprivate var inputs: [(path: String, title: String)] {
    let others = [
      (baseline?.absolute, "fail-on.baseline"), (request.tls.caFile?.absolute, "request.tls.ca-file"),
      (request.tls.clientCertificate?.absolute, "request.tls.client-certificate"),
      (request.tls.clientKey?.absolute, "request.tls.client-key"),
    ]
    return [(absoluteFile, "a job file")].compactMap { path, title in path.map { ($0, title) } }
      + manifests.flatMap(\.list.files).map { ($0, "a list of URLs") }
      + notifications.flatMap { [$0.url.file, $0.secret.file] }.compactMap { $0.map { ($0.absolute, "a secret of notify") } }
      + others.compactMap { path, title in path.map { ($0, title) } }
  }

  /// The folders of the caches that the job names, whether or not this run uses them.
  fileprivate var cacheFolders: [String] {
    [cache.disk.directory] + cache.readOnly.map(\.absolute)
  }

  /// Its name and file, since two jobs may have the same name.
  fileprivate var title: String { "the job '\(name)'" + (file.map { " (\($0))" } ?? "") }
}

extension ReportFormat {
  /// Whether reports of several jobs can be concatenated.
  fileprivate var canFollowOthers: Bool {
    switch self {
    case .text, .github, .jsonl: true
    case .json, .csv, .junit, .markdown, .html, .prometheus: false
    }
  }
}

/// The folder of the cache that contains `path`, of any job.
private func cacheFolder(above path: String) -> String? {
  var folder = path[...]
  while let slash = folder.lastIndex(of: "/"), slash > folder.startIndex {
    folder = folder[..<slash]
    if ["index.mdb", "VERSION"].allSatisfy({ access("\(folder)/\($0)", F_OK) == 0 }) { return String(folder) }
  }
  return nil
}

/// Whether there is something other than a regular file at `path`.
private func isSpecialFile(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
}
