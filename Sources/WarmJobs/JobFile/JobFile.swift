import ImagePrimitives
internal import Glibc
import ImageCaching
internal import ImageManaging
internal import YAMLDocuments

/// Reads job files: YAML to a tree, what the command line sets over it, every key checked, and a ``Job`` at the end.
public enum JobFile {
  /// Reads and checks the job file at `path`.
  ///
  /// Relative paths start at the file's folder; those that `overrides` give start at the current one.
  ///
  /// - Parameters:
  ///   - overrides: what the command line sets, in order; a later one wins.
  ///   - environment: where `${NAME}` comes from, and values of some keys that are not set otherwise, such as PREWARM_CONCURRENCY.
  /// - Throws: ``JobFileErrors`` with every mistake, or the one of syntax that makes the rest unreadable.
  public static func load(
    path: String,
    overrides: [JobOverride] = [],
    environment: [String: String]
  ) throws(JobFileErrors) -> Job {
    try parse(try read(path), path: path, overrides: overrides, environment: environment)
  }

  /// Reads and checks the text of a job file that is called `path`; see ``load(path:overrides:environment:)``.
  public static func parse(
    _ text: some Collection<UInt8>,
    path: String,
    overrides: [JobOverride] = [],
    environment: [String: String]
  ) throws(JobFileErrors) -> Job {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let document = try document(text, name: path)
    let absolute = folder == "." ? currentFolder() : JobPath(folder, in: currentFolder()).absolute
    return try job(document.root, file: path, folder: absolute, overrides: overrides, environment: environment)
  }

  /// A job without a file: manifests, what `overrides` set, and defaults.
  ///
  /// - Parameters:
  ///   - manifests: the job's manifests.
  ///   - reading: what the command line sets of each of them, at paths such as `manifests.0.format`.
  /// - Throws: ``JobFileErrors`` with every mistake in `reading` and `overrides`; that includes overrides of `manifests`.
  public static func make(
    name: String,
    manifests: [Job.Manifest],
    reading: [JobOverride] = [],
    overrides: [JobOverride] = [],
    environment: [String: String]
  ) throws(JobFileErrors) -> Job {
    let refused = overrides.filter { $0.path == "manifests" || $0.path.hasPrefix("manifests.") }
    guard refused.isEmpty else {
      let message = "only job files have 'manifests' to set; use --format, --base-url, --include or --exclude"
      throw JobFileErrors(refused.map { JobFileError(location: .option($0.label), message: message, secrets: []) })
    }
    let text = "{version: 1, name: \(JobOverride.quoted(name)), manifests: [{urls: []}]}"
    let document = try document(Array(text.utf8), name: name)
    let all = reading + overrides
    var job = try job(document.root, file: nil, folder: currentFolder(), overrides: all, environment: environment)
    let settings = job.manifests[0].list
    job.manifests = manifests.map { $0.read(by: settings) }
    return job
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
    var reader = JobReader(environment: environment, folder: folder, errors: errors)
    reader.read(merge.root)
    var (job, found) = (reader.job, errors.sorted)
    job.file = file
    if job.cache.disk.directory.isEmpty {
      job.cache.disk.directory = ImageCache.defaultDirectory(environment: environment) ?? ""
      if job.cache.disk.directory.isEmpty, job.cache.mode != .bypass {
        let message = "this user has no home folder for the cache; set cache.directory or PREWARM_CACHE_DIR"
        found.append(JobFileError(location: .path(file ?? "the command line"), message: message, secrets: []))
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

  /// The bytes of a job file, up to one more than a document may have.
  public static func read(_ path: String) throws(JobFileErrors) -> [UInt8] {
    let limit = YAMLLimits().maximumBytes + 1
    guard let file = fopen(path, "re") else { throw unreadable(path) }
    defer { fclose(file) }
    var failed = false
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      count = fread(buffer.baseAddress, 1, limit, file)
      failed = ferror(file) != 0
    }
    guard !failed else { throw unreadable(path) }
    return bytes
  }

  /// What the last call of the system says on why `path` cannot be read.
  private static func unreadable(_ path: String) -> JobFileErrors {
    let reason = errorSentence()
    return JobFileErrors([JobFileError(location: .path(path), message: "cannot be read: \(reason)", secrets: [])])
  }
}
