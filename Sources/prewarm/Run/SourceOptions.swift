import ArgumentParser
import Reports
import Jobs
import Glibc

/// How lists named on the command line are read; makes the jobs of all sources.
struct SourceOptions: ParsableArguments {
  typealias Loader = ([JobOverride]) throws(JobFileErrors) -> Job

  @Option(
    help: ArgumentHelp("Set the format of lists (default: auto)", discussion: SourceOptions.formats, valueName: "format"),
    completion: KeyCompletions.listFormat
  )
  var format: String?

  private static let formats = "Formats: auto, text, csv, tsv, jsonl, sitemap, feed, page and combined (access log)."

  @Flag(help: "Read lists as sitemaps, as --format sitemap does")
  var sitemap = false

  @Flag(inversion: .prefixedNo, help: "Read, or ignore, the pages that sitemaps list")
  var pages: Bool?

  @Option(help: ArgumentHelp("Read pages up to this many links away, 0 to 5 (default: 0)", valueName: "depth"))
  var crawl: String?

  @Option(help: ArgumentHelp("Read URLs from this column or field, such as image.url (default: url)", valueName: "name"))
  var urlColumn: String?

  @Option(help: ArgumentHelp("Read identifiers for reports from this column or field (default: id)", valueName: "name"))
  var idColumn: String?

  @Option(help: ArgumentHelp("Resolve relative URLs of lists against this URL", valueName: "url"))
  var baseURL: String?

  @Option(help: ArgumentHelp("Keep URLs that match, such as '/hero/**'; repeatable", valueName: "pattern"))
  var include: [String] = []

  @Option(help: ArgumentHelp("Skip URLs that match, such as 're:[.]svg$'; repeatable", valueName: "pattern"))
  var exclude: [String] = []

  /// What the options set for each list.
  private var overrides: [JobOverride] {
    let patterns = [("include", include), ("exclude", exclude)].flatMap { name, patterns in
      patterns.map { pattern in
        JobOverride(path: "manifests.\(name)", value: JobOverride.quoted(pattern), origin: "--\(name) \(pattern)", appends: true)
      }
    }
    return [
      format.map { JobOverride(path: "manifests.format", text: $0, origin: "--format") },
      sitemap ? JobOverride(flag: "--sitemap", path: "manifests.format", value: "sitemap") : nil,
      pages.map { JobOverride(flag: $0 ? "--pages" : "--no-pages", path: "manifests.pages", value: "\($0)") },
      crawl.map { JobOverride(path: "manifests.crawl.depth", value: $0, origin: "--crawl") },
      urlColumn.map { JobOverride(path: "manifests.columns.url", text: $0, origin: "--url-column") },
      idColumn.map { JobOverride(path: "manifests.columns.id", text: $0, origin: "--id-column") },
      baseURL.map { JobOverride(path: "manifests.base-url", text: $0, origin: "--base-url") },
    ].compactMap(\.self) + patterns
  }

  /// Returns the jobs of a command line: first one called `name` with all URLs and lists, then those of the job files.
  ///
  /// Prints all errors before it throws exit status 3. `make` receives a loader for each job and returns the loaded job.
  func jobs(
    of arguments: [String],
    name: String,
    display: Display,
    _ make: (@escaping Loader) throws(JobFileErrors) -> Job
  ) throws -> [Job] {
    let sources = try Self.read(arguments)
    if sitemap, let format, format != "sitemap" {
      throw CommandError(.misused, "--sitemap and --format \(format) exclude each other; use one of them")
    }
    let reading = overrides
    if let first = reading.first, let path = sources.jobPaths.first {
      throw CommandError(.misused, "\(first.origin) has no effect on the job file \(named(path)); set it in the file's manifests")
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

/// Loads job files.
enum JobLoading {
  /// Returns the jobs of `paths`; prints the errors of all files before it throws exit status 3.
  static func jobs(at paths: [String], overrides: [JobOverride], display: Display) throws -> [Job] {
    var jobs: [Job] = []
    var errors: [JobFileError] = []
    for path in paths {
      do {
        jobs.append(try JobFile.load(path: path, overrides: overrides, environment: environment()))
      } catch {
        errors += error.errors
      }
    }
    guard errors.isEmpty else { throw failure(JobFileErrors(errors), display) }
    return jobs
  }

  /// Prints the errors and returns the exit status of a command with invalid jobs.
  static func failure(_ errors: JobFileErrors, _ display: Display) -> ExitCode {
    writeToStandardError(errors.formatted(color: display.usesColor(on: STDERR_FILENO)))
    return ExitCode(ExitStatus.misused.rawValue)
  }

  /// The environment variables of the process.
  static func environment() -> [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      let pair = String(cString: text)
      if let equals = pair.firstIndex(of: "=") {
        variables[String(pair[..<equals])] = String(pair[pair.index(after: equals)...])
      }
      entry += 1
    }
    return variables
  }
}
