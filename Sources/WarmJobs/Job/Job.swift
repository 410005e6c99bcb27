public import ImageManaging
public import Manifests
public import Reports

/// One job as it is run: every key of the job file read and checked, in the options of the modules that do the work.
///
/// It comes from ``JobFile``; past that line nothing is a string that should be a type. ``JobKeys`` says which key sets what.
public struct Job: Sendable {
  /// What reports call it: lower-case letters, digits and `-`.
  public var name = ""
  /// A sentence for people.
  public var description = ""
  /// The job file's path as it was given; nil for a job made from the command line alone.
  public var file: String?
  /// The lists of URLs in the order in which they stand.
  public var manifests: [Manifest] = []
  /// In which order, how many at once, and how fast.
  public var prefetch = Prefetch()
  /// What is asked of servers, and which answers are good.
  public var request = Request()
  /// Which cache, and how long and how much it keeps.
  public var cache = Cache()
  /// What makes bytes a good image.
  public var verify = Verify()
  /// What is stored in place of the original; nil, the default: the original.
  public var transform: Transform?
  /// What is remembered as bad for good; for how long is the cache's business.
  public var blacklist = BlacklistRules()
  /// Where reports go; the same file, or standard output, never twice.
  public var reports = [ReportTarget()]
  /// What shards of the job are cut by.
  public var shardBy = Shard.Rule.url
  /// Which of the job's entries are fetched; nil, the default: all. See ``sharded(_:)``.
  public var shard: Shard?
  /// What makes the exit status 2.
  public var failOn = FailOn()
  /// An earlier report, whose failures do not count; nil: all count.
  public var baseline: JobPath?

  /// A job without a name and manifests, with the defaults of the job file.
  init() {}
}

extension Job {
  /// One report and where it goes.
  public struct ReportTarget: Sendable, Hashable {
    /// Where a report goes.
    public enum Destination: Sendable, Hashable {
      case standardOutput
      case file(JobPath)
    }

    /// How it is written.
    public var format: ReportFormat
    /// Where it goes.
    public var destination: Destination
    /// Whether a JUnit report lists what was good, too.
    public var listsSuccesses: Bool

    public init(format: ReportFormat = .text, destination: Destination = .standardOutput, listsSuccesses: Bool = false) {
      self.format = format
      self.destination = destination
      self.listsSuccesses = listsSuccesses
    }
  }
}

/// A path as somebody wrote it, and the folder that it starts at where it is relative.
public struct JobPath: Sendable, Hashable {
  /// The path as written, for people.
  public var written: String
  /// The absolute path of the folder: the job file's, or the current one for what the command line says.
  public var folder: String

  /// A path that starts at `folder` where it is relative.
  public init(_ written: String, in folder: String) {
    self.written = written
    self.folder = folder
  }

  /// The absolute path. For a pattern, only `written` may be read as one: the folder's name may hold `*` itself.
  public var absolute: String {
    if written.hasPrefix("/") { return written }
    return folder.hasSuffix("/") ? folder + written : "\(folder)/\(written)"
  }

  /// The absolute path without `.`, `..` and doubled slashes, by the letters alone: for comparing, not for opening.
  var normalized: String {
    var parts: [Substring] = []
    for part in absolute.split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return "/" + parts.joined(separator: "/")
  }
}
