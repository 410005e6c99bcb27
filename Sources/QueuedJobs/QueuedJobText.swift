#if Queue
import CXXHash
public import WarmJobs
public import WorkQueues
import YAMLDocuments

/// A job as stored in a queue: the text of its file, and the command line's settings over it.
///
/// Variables stay as written, and each worker expands them from its own environment: their secrets don't leave the
/// enqueuer's machine. Workers ignore settings that only the enqueuer needs (manifests, reports, fail-on).
///
/// Format: a line with the version, then each text after its length in 32 bits, little-endian: the file's name, its
/// text, and for each override path, value, origin and a byte of flags.
struct QueuedJobText: Equatable {
  /// The reason why bytes aren't a job: a sentence about the queue.
  struct FormatError: Error {
    let message: String
  }

  private static let beginning = Array("prewarm.queued-job/1\n".utf8)
  private static let maximumOverrides = 4096
  /// Keys that matter only to the enqueuer.
  private static let keysOfEnqueuer = ["manifests", "report", "fail-on"]

  /// The file's name without its folder, for errors.
  var name: String
  /// The text of the file.
  var text: [UInt8]
  /// The settings over it.
  var overrides: [JobOverride]

  /// Creates the text of the job file at `path`.
  init(path: String, text: [UInt8], overrides: [JobOverride]) {
    name = path.split(separator: "/").last.map(String.init) ?? path
    self.text = text
    self.overrides = overrides.filter { override in
      !Self.keysOfEnqueuer.contains { override.path == $0 || override.path.hasPrefix("\($0).") }
    }
  }

  /// Returns the job as this machine's workers run it: relative paths start at the current folder.
  ///
  /// - Parameters:
  /// - further: this worker's settings over the job.
  /// - environment: the values of `${NAME}`.
  func job(_ further: [JobOverride], environment: [String: String]) throws(JobFileErrors) -> Job {
    let unused = [("manifests", "[{urls: []}]"), ("report", "[]"), ("fail-on", "{}")]
      .map { JobOverride(path: $0, value: $1, origin: "prewarm worker") }
    return try JobFile.parse(text, path: name, overrides: overrides + further + unused, environment: environment)
  }

  /// Its name and its file, for messages and lists; variables stay as written.
  var title: JobTitle {
    let fields = try? YAMLDocument(parsing: text, name: name).root.mapping?.pairs
    let written = fields?.first { $0.key.scalar?.text == "name" }?.value.scalar?.text
    return JobTitle(name: written ?? name, file: name)
  }

  /// Identifies the job.
  var digest: String {
    let hash = encoded.withUnsafeBytes { XXH3_128bits($0.baseAddress, $0.count) }
    return [hash.high64, hash.low64].map { String($0, radix: 16) }.joined(separator: "-")
  }

  // MARK: Bytes

  var encoded: [UInt8] {
    var bytes = Self.beginning
    func append(_ text: some Collection<UInt8>) {
      withUnsafeBytes(of: UInt32(text.count).littleEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: text)
    }
    append(name.utf8)
    append(text)
    for override in overrides {
      append(override.path.utf8)
      append(override.value.utf8)
      append(override.origin.utf8)
      append(CollectionOfOne((override.appends ? 1 : 0) | (override.yields ? 2 : 0)))
    }
    return bytes
  }

  /// Parses the bytes of ``encoded``; they are untrusted, since anyone with access to the queue may have written them.
  init(decoding bytes: [UInt8]) throws(FormatError) {
    guard bytes.starts(with: Self.beginning) else {
      throw FormatError(message: "the job in the queue wasn't written by this version of prewarm")
    }
    var rest = bytes[Self.beginning.count...]
    name = try Self.string(&rest)
    text = try Self.text(&rest)
    overrides = []
    while !rest.isEmpty {
      guard overrides.count < Self.maximumOverrides else { throw Self.brokenOff }
      let (path, value, origin) = (try Self.string(&rest), try Self.string(&rest), try Self.string(&rest))
      guard let flags = try Self.text(&rest).first, flags < 4 else { throw Self.brokenOff }
      var override = JobOverride(path: path, value: value, origin: origin, appends: flags & 1 != 0)
      override.yields = flags & 2 != 0
      overrides.append(override)
    }
  }

  private static var brokenOff: FormatError { FormatError(message: "the job in the queue is corrupt") }

  private static func text(_ rest: inout ArraySlice<UInt8>) throws(FormatError) -> [UInt8] {
    guard rest.count >= 4 else { throw brokenOff }
    let count = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    rest = rest.dropFirst(4)
    guard count <= min(rest.count, YAMLLimits().maximumBytes) else { throw brokenOff }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  private static func string(_ rest: inout ArraySlice<UInt8>) throws(FormatError) -> String {
    guard let text = String(validating: try text(&rest), as: UTF8.self) else { throw brokenOff }
    return text
  }

  static func == (left: QueuedJobText, right: QueuedJobText) -> Bool { left.encoded == right.encoded }
}

/// The name of a job in a queue.
public struct JobTitle: Sendable, Hashable, CustomStringConvertible {
  /// The name in its file.
  public var name: String
  /// The file's name without its folder.
  public var file: String

  /// `'homepage' (homepage.yaml)`.
  public var description: String { "'\(name)' (\(file))" }
}

extension QueuedJob {
  /// The name of the job; nil if this version of prewarm can't read it.
  public var title: JobTitle? { try? QueuedJobText(decoding: contents).title }

  /// The job as a worker here would run it; nil if it is invalid here, for example if `environment` lacks a variable.
  public func job(environment: [String: String]) -> Job? {
    try? QueuedJobText(decoding: contents).job([], environment: environment)
  }
}

extension JobOverride {
  /// Keys used when filling the queue or making its report; workers ignore them.
  private static let keysOfTheQueue: Set<String> = [
    "version", "name", "description", "manifests", "report", "fail-on", "shard-by", "prefetch.order", "prefetch.deadline",
  ]

  /// The reason why a worker can't set this, as one sentence; nil if it can.
  public var refusalByWorkers: String? {
    let names = path.split(separator: ".").map(String.init)
    guard !Self.keysOfTheQueue.isDisjoint(with: [names.first ?? "", names.prefix(2).joined(separator: ".")]) else { return nil }
    return "\(label): workers ignore it; set it with prewarm enqueue"
  }
}
#endif
