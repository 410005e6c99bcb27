import Base
internal import Glibc
import ImageCaching
internal import ImageManaging

/// Reads job files: parses YAML, merges the overrides of the command line, checks every key and makes a ``Job``.
package enum JobFile {
  /// Reads and checks the job file at `path`; throws all errors, or only the syntax error that ends parsing.
  ///
  /// Relative paths start at the file's folder; those in `overrides`, of which later ones win, at the current folder.
  package static func load(
    path: String,
    overrides: [JobOverride] = [],
    environment: [String: String]
  ) throws(JobFileErrors) -> Job {
    try parse(try read(path), path: path, overrides: overrides, environment: environment)
  }

  /// Reads and checks the text of the job file `path`; see ``load(path:overrides:environment:)``.
  ///
  /// - Parameter folder: where relative paths start; nil: the file's folder.
  package static func parse(
    _ text: some Collection<UInt8>,
    path: String,
    folder: String? = nil,
    overrides: [JobOverride] = [],
    environment: [String: String]
  ) throws(JobFileErrors) -> Job {
    let folder = folder ?? path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let document = try document(text, name: path)
    let absolute = folder == "." ? currentFolder() : JobPath(folder, in: currentFolder()).absolute
    return try job(document.root, file: path, folder: absolute, overrides: overrides, environment: environment)
  }

  /// Makes a job without a file, from lists, overrides and defaults.
  ///
  /// - Parameter reading: overrides for all lists, at paths such as `manifests.format`; `overrides` may not name other lists.
  package static func make(
    name: String,
    manifests: [Job.List],
    reading: [JobOverride] = [],
    overrides: [JobOverride] = [],
    environment: [String: String]
  ) throws(JobFileErrors) -> Job {
    let (all, sources) = (reading + overrides, ["path", "url", "urls", "page"])
    try reject(overrides.filter { $0.path == "manifests" || $0.isListKey(sources.contains) }) { _ in
      "the command line names the lists; set another key of them, such as manifests.limit"
    }
    // Each stands for a list; a job has at least one.
    let entries = Array(repeating: "{path: list}", count: max(1, manifests.count)).joined(separator: ", ")
    let text = "{version: 1, name: \(JobOverride.quoted(name)), manifests: [\(entries)]}"
    let document = try document(Array(text.utf8), name: name)
    var job = try job(document.root, file: nil, folder: currentFolder(), overrides: all, environment: environment)
    job.manifests = zip(manifests, job.manifests).map { $0.read(by: $1) }
    let lists = job.manifests
    if !lists.contains(where: \.mayHavePages) {
      try reject(all.filter { $0.isListKey { $0 == "pages" || $0 == "crawl" } }) { override in
        "'\(override.parts.dropFirst().joined(separator: "."))' has no effect: no list is a page or a sitemap"
      }
    }
    return job
  }

  private static func reject(_ overrides: [JobOverride], _ message: (JobOverride) -> String) throws(JobFileErrors) {
    if overrides.isEmpty { return }
    throw JobFileErrors(overrides.map { JobFileError(location: .option($0.label), message: message($0), secrets: []) })
  }

  private static func job(
    _ root: YAMLNode,
    file: String?,
    folder: String,
    overrides: [JobOverride],
    environment: [String: String]
  ) throws(JobFileErrors) -> Job {
    let merge = JobOverrideMerge(JobOverride.defaults(in: environment) + overrides, over: root)
    let errors = JobFileErrorList(options: merge.options, root: root)
    for problem in merge.problems { errors.add(problem.message, at: problem.location) }
    var reader = JobReader(environment: environment, folder: folder, errors: errors, isOfCommandLine: file == nil)
    reader.read(merge.root)
    var (job, found) = (reader.job, errors.sorted)
    job.file = file
    if job.cache.disk.directory.isEmpty {
      job.cache.disk.directory = ImageCache.defaultDirectory(environment: environment) ?? ""
      if job.cache.disk.directory.isEmpty, job.cache.mode != .bypass {
        let message = "no home folder for the cache; set cache.directory or PREWARM_CACHE_DIR"
        found += JobFileErrors(file ?? "the command line", message).errors
      }
    }
    guard found.isEmpty else { throw JobFileErrors(found) }
    return job
  }

  private static func document(_ text: some Collection<UInt8>, name: String) throws(JobFileErrors) -> YAMLDocument {
    do {
      return try YAMLDocument(parsing: text, name: name)
    } catch {
      let secrets = JobSecrets.lines(of: error.location.source)
      throw JobFileErrors([JobFileError(location: .file(error.location), message: error.message, secrets: secrets)])
    }
  }

  /// Reads a job file, up to one byte more than the maximum of a document.
  package static func read(_ path: String) throws(JobFileErrors) -> [UInt8] {
    if let bytes = contents(of: path, limit: YAMLLimits().maximumBytes + 1) { return bytes }
    throw JobFileErrors(path, "cannot read the job file: \(errorSentence())")
  }
}

/// The bytes of a file, by default as many as it has now; nil if it can't be read, with the error in `errno`.
func contents(of path: String, limit: Int? = nil) -> [UInt8]? {
  let number = open(path, O_RDONLY | O_CLOEXEC)
  guard number >= 0 else { return nil }
  let file = FileDescriptor(owning: number)
  return readAll(file.number, limit: limit ?? Int(file.status?.st_size ?? 0))
}
