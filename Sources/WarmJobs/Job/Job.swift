public import ImageManaging
public import Manifests
public import Reports

/// One job as it is run: every key of the job file read and checked, in the options of the modules that do the work.
///
/// It comes from ``JobFile``; past that line nothing is a string that should be a type. ``JobKeys`` says which key sets what.
public struct Job: Sendable {
  /// Lower-case letters, digits and `-`.
  public var name = ""
  public var description = ""
  /// The job file's path as it was given; nil for a job made from the command line alone.
  public var file: String?
  /// The lists of URLs, in their order.
  public var manifests: [Manifest] = []
  /// The order, concurrency and rates of requests.
  public var prefetch = Prefetch()
  /// What is sent to servers, and which responses are good.
  public var request = Request()
  /// The cache, and how long and how much it keeps.
  public var cache = Cache()
  /// The rules for good images.
  public var verify = Verify()
  /// What is stored in place of the original; nil, the default: the original.
  public var transform: Transform?
  /// Which failures are permanent; ``Cache/disk`` has how long they are remembered.
  public var blacklist = BlacklistRules()
  /// Where reports go; the same file, or standard output, never twice.
  public var reports = [ReportTarget()]
  public var shardBy = Shard.Rule.url
  /// The shard whose entries are fetched; nil, the default: all. See ``sharded(_:)``.
  public var shard: Shard?
  /// The limits beyond which the exit status is 2.
  public var failOn = FailOn()
  /// An earlier report, whose failures don't count; nil: all count.
  public var baseline: JobPath?

  /// A job without a name and manifests, with the defaults of the job file.
  init() {}
}

extension Job {
  /// One report and where it goes.
  public struct ReportTarget: Sendable, Hashable {
    public enum Destination: Sendable, Hashable {
      case standardOutput
      case file(JobPath)
    }

    public var format: ReportFormat
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
