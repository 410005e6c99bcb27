import ArgumentParser
import Reports
import WarmJobs

/// How the lists are read that a command line names, and the jobs of all its sources.
struct SourceOptions: ParsableArguments {
  /// Makes a job of what the command line sets over it.
  typealias Loader = ([JobOverride]) throws(JobFileErrors) -> Job

  @Option(
    help: ArgumentHelp(
      "How lists are written: auto, text, csv, tsv, jsonl, sitemap or combined (a web server's access log).",
      valueName: "format"
    ),
    completion: KeyCompletions.listFormat
  )
  var format: String?

  @Option(help: ArgumentHelp("What relative entries of lists, such as paths of an access log, start at.", valueName: "url"))
  var baseURL: String?

  @Option(
    help: ArgumentHelp("Take only URLs that match, such as '/hero/**' or 're:[.]png$'; may be repeated.", valueName: "pattern")
  )
  var include: [String] = []

  @Option(help: ArgumentHelp("Leave out URLs that match, written like --include; may be repeated.", valueName: "pattern"))
  var exclude: [String] = []

  /// What they set of each list.
  private var overrides: [JobOverride] {
    let patterns = [("include", include), ("exclude", exclude)].flatMap { name, patterns in
      patterns.map { pattern in
        JobOverride(
          path: "manifests.0.\(name)",
          value: JobOverride.quoted(pattern),
          origin: "--\(name) \(pattern)",
          appends: true
        )
      }
    }
    return [
      format.map { JobOverride(path: "manifests.0.format", text: $0, origin: "--format") },
      baseURL.map { JobOverride(path: "manifests.0.base-url", text: $0, origin: "--base-url") },
    ].compactMap(\.self) + patterns
  }

  /// The jobs of what a command line names: one called `name` of all URLs and lists, and then those of the job files.
  ///
  /// All errors are printed before this throws exit status 3. `make` gets each job with a loader and returns what the loader gave it.
  func jobs(
    of arguments: [String],
    name: String,
    display: DisplayOptions,
    _ make: (@escaping Loader) throws(JobFileErrors) -> Job
  ) throws -> [Job] {
    let sources = try Self.read(arguments)
    let reading = overrides
    if let first = reading.first, let path = sources.jobPaths.first {
      throw CommandError(.misused, "\(first.origin): \(named(path)) is a job file; set it in the file's manifests")
    }
    let environment = JobLoading.environment()
    var jobs: [Job] = []
    var errors: [JobFileError] = []
    func add(_ load: @escaping Loader) {
      do throws(JobFileErrors) {
        jobs.append(try make(load))
      } catch {
        errors += error.errors
      }
    }
    let manifests = sources.manifests
    if !manifests.isEmpty {
      add { overrides throws(JobFileErrors) in
        try JobFile.make(name: name, manifests: manifests, reading: reading, overrides: overrides, environment: environment)
      }
    }
    for path in sources.jobPaths {
      add { overrides throws(JobFileErrors) in
        try JobFile.load(path: path, overrides: overrides, environment: environment)
      }
    }
    guard errors.isEmpty else { throw JobLoading.failure(JobFileErrors(errors), display) }
    return jobs
  }

  private static func read(_ arguments: [String]) throws -> [Source] {
    var read: [Source] = []
    var errors: [Source.SourceError] = []
    for argument in arguments {
      do throws(Source.SourceError) {
        read.append(try Source(argument))
      } catch {
        errors.append(error)
      }
    }
    guard errors.isEmpty else {
      errors.forEach { Note.error($0.sentence) }
      throw ExitCode(ExitStatus.misused.rawValue)
    }
    return read
  }
}
