#if Queue
import CXXHash
public import WarmJobs
public import WorkQueues
import YAMLDocuments

/// A job as it lies in a queue: the text of its file, and what the command line set over it.
///
/// Variables stand there as they were written, and each worker fills them in from its own environment: no secret that they hold
/// leaves the machine of who enqueued the job. What only who enqueued it needs (manifests, reports, rules of judgement) is not
/// looked at by workers.
///
/// It is written as a line with the version, then each text behind its length in 32 bits, little-endian: the file's name, its
/// text, and of each override path, value, origin and a byte of flags.
struct QueuedJobText: Equatable {
  /// Why bytes are no job: a sentence on the queue.
  struct FormatError: Error {
    let message: String
  }

  private static let beginning = Array("prewarm.queued-job/1\n".utf8)
  private static let maximumOverrides = 4096
  /// Keys that matter only where the job was enqueued.
  private static let keysOfEnqueuer = ["manifests", "report", "fail-on"]

  /// The file's name without its folder, for errors.
  var name: String
  /// The text of the file.
  var text: [UInt8]
  /// What stands over it.
  var overrides: [JobOverride]

  /// The job file at `path`, of that text.
  init(path: String, text: [UInt8], overrides: [JobOverride]) {
    name = path.split(separator: "/").last.map(String.init) ?? path
    self.text = text
    self.overrides = overrides.filter { override in
      !Self.keysOfEnqueuer.contains { override.path == $0 || override.path.hasPrefix("\($0).") }
    }
  }

  /// The job as this machine's workers run it: its relative paths start at the current folder.
  ///
  /// - Parameters:
  ///   - further: what this worker sets over the job.
  ///   - environment: where `${NAME}` comes from.
  func job(_ further: [JobOverride], environment: [String: String]) throws(JobFileErrors) -> Job {
    let unused = [("manifests", "[{urls: []}]"), ("report", "[]"), ("fail-on", "{}")]
      .map { JobOverride(path: $0, value: $1, origin: "prewarm worker") }
    return try JobFile.parse(text, path: name, overrides: overrides + further + unused, environment: environment)
  }

  /// Its name and its file, for sentences and listings; variables stand as they are written.
  var title: JobTitle {
    let fields = try? YAMLDocument(parsing: text, name: name).root.mapping?.pairs
    let written = fields?.first { $0.key.scalar?.text == "name" }?.value.scalar?.text
    return JobTitle(name: written ?? name, file: name)
  }

  /// What tells it from other jobs.
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

  /// Reads what ``encoded`` wrote; anything may stand there, since anybody may have written it who may write to the queue.
  init(decoding bytes: [UInt8]) throws(FormatError) {
    guard bytes.starts(with: Self.beginning) else {
      throw FormatError(message: "the job in the queue was not written by this version of prewarm")
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

  private static var brokenOff: FormatError { FormatError(message: "the job in the queue is damaged") }

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

/// What a job in a queue is called.
public struct JobTitle: Sendable, Hashable, CustomStringConvertible {
  /// As its file names it.
  public var name: String
  /// The file's name without its folder.
  public var file: String

  /// `'homepage' (homepage.yaml)`.
  public var description: String { "'\(name)' (\(file))" }
}

extension QueuedJob {
  /// What the job is called; nil if this version of prewarm cannot read it.
  public var title: JobTitle? { try? QueuedJobText(decoding: contents).title }

  /// The job as a worker here would run it; nil if it cannot be read, as when it needs a variable that `environment` lacks.
  public func job(environment: [String: String]) -> Job? {
    try? QueuedJobText(decoding: contents).job([], environment: environment)
  }
}

extension JobOverride {
  /// Keys that the queue was filled by, or its report is made by: a worker has no part in them.
  private static let keysOfTheQueue: Set<String> = [
    "version", "name", "description", "manifests", "report", "fail-on", "shard-by", "prefetch.order", "prefetch.deadline",
  ]

  /// Why a worker cannot set this, as one sentence; nil where it can.
  public var refusalByWorkers: String? {
    let names = path.split(separator: ".").map(String.init)
    guard !Self.keysOfTheQueue.isDisjoint(with: [names.first ?? "", names.prefix(2).joined(separator: ".")]) else { return nil }
    return "\(label): a worker has no part in that; set it where the job is put into the queue, with prewarm enqueue"
  }
}
#endif
