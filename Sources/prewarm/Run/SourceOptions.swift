import ArgumentParser
import Base
import Glibc
import Jobs
import Lists
import Reports

/// How lists named on the command line are read; makes the jobs of all sources.
struct SourceOptions: ParsableArguments {
  typealias Loader = ([JobOverride]) throws(JobFileErrors) -> Job

  @Option(
    help: ArgumentHelp("Set the format of lists (default: auto)", discussion: SourceOptions.formats, valueName: "format"),
    completion: .list(JobKeys.suggestions(for: "manifests[].format"))
  )
  var format: String?

  private static let formats = "Formats: auto, text, csv, tsv, jsonl, sitemap, feed, page and combined (access log)."

  @Flag(help: "Read lists as sitemaps, as --format sitemap does")
  var sitemap = false

  @Flag(inversion: .prefixedNo, help: "Read, or ignore, the pages that sitemaps list")
  var pages: Bool?

  @Option(key: "manifests.crawl.depth", "Read pages up to this many links away, 0 to 5 (default: 0)", "depth", origin: "--crawl")
  var crawl: JobOverride?

  @Option(
    key: "manifests.columns.url",
    "Read URLs from this column or field, such as image.url (default: url)",
    "name",
    origin: "--url-column",
    isText: true
  )
  var urlColumn: JobOverride?

  @Option(
    key: "manifests.columns.id",
    "Read identifiers for reports from this column or field (default: id)",
    "name",
    origin: "--id-column",
    isText: true
  )
  var idColumn: JobOverride?

  @Option(key: "manifests.base-url", "Resolve relative URLs of lists against this URL", "url", isText: true)
  var baseURL: JobOverride?

  @Option(help: ArgumentHelp("Keep URLs that match, such as '/hero/**'; repeatable", valueName: "pattern"))
  var include: [String] = []

  @Option(help: ArgumentHelp("Skip URLs that match, such as 're:[.]svg$'; repeatable", valueName: "pattern"))
  var exclude: [String] = []

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
      crawl, urlColumn, idColumn, baseURL,
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
    let manifests = sources.manifests
    let paths = (manifests.isEmpty ? [] : [nil]) + sources.jobPaths
    return try JobLoading.load(paths, display) { path throws(JobFileErrors) in
      try make { overrides throws(JobFileErrors) in
        if let path { return try JobLoading.job(at: path, overrides) }
        let environment = JobLoading.environment
        return try JobFile.make(
          name: name,
          manifests: manifests,
          reading: reading,
          overrides: overrides,
          environment: environment
        )
      }
    }
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

enum JobLoading {
  /// Returns what `load` makes of each source; prints the errors of all before it throws exit status 3.
  static func load<Source, Loaded>(
    _ sources: [Source],
    _ display: Display,
    _ load: (Source) throws(JobFileErrors) -> Loaded
  ) throws -> [Loaded] {
    var loaded: [Loaded] = []
    var errors: [JobFileError] = []
    for source in sources {
      do throws(JobFileErrors) {
        loaded.append(try load(source))
      } catch {
        errors += error.errors
      }
    }
    if errors.isEmpty { return loaded }
    writeToStandardError(JobFileErrors(errors).formatted(color: display.usesColor(on: STDERR_FILENO)))
    throw ExitCode(ExitStatus.misused.rawValue)
  }

  static func job(at path: String, _ overrides: [JobOverride]) throws(JobFileErrors) -> Job {
    try JobFile.load(path: path, overrides: overrides, environment: environment)
  }

  static let environment: [String: String] = {
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
  }()
}

/// The meaning of a SOURCE on the command line.
enum Source {
  /// A job file: its lists and its rules.
  case job(path: String)
  case list(Job.List)
  case url(String)

  /// Why an argument isn't a source, as one sentence.
  struct SourceError: Error {
    let sentence: String
  }

  /// Throws if the argument is neither an http or https URL nor a readable file or folder.
  init(_ argument: String) throws(SourceError) {
    if argument == "-" {
      self = .list(Job.List(named: argument))
    } else if Self.hasScheme(argument) {
      self = try Self.source(ofURL: argument)
    } else if [".yaml", ".yml"].contains(where: argument.lowercased().hasSuffix) {
      // Loading the file reports its errors.
      self = .job(path: argument)
    } else {
      try Self.checkFile(argument)
      self = .list(Job.List(named: argument))
    }
  }

  private static func source(ofURL argument: String) throws(SourceError) -> Source {
    do throws(InvalidURL) {
      let url = try BaseURL(argument)
      if url.bytes.withUnsafeBytes(ImageExtension.ends) { return .url(argument) }
      var list = Job.List(url)
      if let format = listFormat(url) {
        list.list.format = format
      } else {
        list.list.isOfAnyKind = true
      }
      return .list(list)
    } catch {
      throw SourceError(sentence: "\(named(argument)): \(error.message)")
    }
  }

  /// The format of the list at `url` by the end of its path; nil if the response decides what it is.
  private static func listFormat(_ url: BaseURL) -> URLList.Format? {
    let path = String(decoding: url.bytes.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self).lowercased()
    let name = path.hasSuffix(".gz") ? path.dropLast(3) : path[...]
    return [".xml", ".txt", ".csv", ".tsv", ".jsonl"].contains(where: name.hasSuffix) ? .auto : nil
  }

  /// Whether an argument that isn't a command looks like a source.
  static func isLikely(_ argument: String) -> Bool {
    argument == "-" || hasScheme(argument) || argument.utf8.contains(where: "./*?[".utf8.contains)
      || access(argument, F_OK) == 0
  }

  /// Whether it begins as `https://` does (RFC 3986, section 3.1).
  private static func hasScheme(_ text: String) -> Bool {
    guard let colon = text.firstRange(of: "://"), let first = text.utf8.first, isLetter(first) else { return false }
    return text[..<colon.lowerBound].utf8.allSatisfy { isLetter($0) || $0 &- UInt8(ascii: "0") < 10 || "+-.".utf8.contains($0) }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (byte | 32) &- UInt8(ascii: "a") < 26 }

  /// Patterns are looked up later, when the lists are opened.
  private static func checkFile(_ path: String) throws(SourceError) {
    if path.utf8.contains(where: "*?[".utf8.contains) { return }
    var status = stat()
    guard stat(path, &status) == 0 else {
      let reason = errno == ENOENT ? "no such file; URLs start with http:// or https://" : errorSentence()
      throw SourceError(sentence: "cannot read \(named(path)): \(reason)")
    }
    guard access(path, R_OK) == 0 else { throw SourceError(sentence: "cannot read \(named(path)): \(errorSentence())") }
  }
}

extension [Source] {
  /// The lists of the sources other than job files, in order; adjacent URLs form one list.
  var manifests: [Job.List] {
    var manifests: [Job.List] = []
    var urls: [URLList.InlineEntry] = []
    func endList() {
      if !urls.isEmpty { manifests.append(Job.List(urls)) }
      urls = []
    }
    for source in self {
      switch source {
      case .job: break
      // It has no line in a file.
      case .url(let url): urls.append(URLList.InlineEntry(text: url, line: 0))
      case .list(let list):
        endList()
        manifests.append(list)
      }
    }
    endList()
    return manifests
  }

  var jobPaths: [String] { compactMap { if case .job(let path) = $0 { path } else { nil } } }
}
