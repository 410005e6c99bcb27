#if Queue
public import ImagePrimitives
import RedisClient

/// The job of a queue's entries, as its writer describes it to its workers; opaque here.
public struct QueuedJob: Sendable, Hashable {
  /// The maximum number of variants of a URL.
  public static let maximumVariants = 1024
  /// The maximum distance of a creation time from 1970: about 35,000 years.
  static let maximumMilliseconds: Int64 = 1 << 50

  /// The job, in a form that writer and workers agree on.
  public var contents: [UInt8]
  /// Identifies the job: text that changes with any relevant change.
  public var digest: String
  /// The number of requested variants of each URL.
  public var variantCount: Int
  /// The time when it was first put into the queue.
  public var created: Timestamp

  /// Creates a job.
  public init(contents: [UInt8], digest: String, variantCount: Int, created: Timestamp) {
    self.contents = contents
    self.digest = digest
    self.variantCount = variantCount
    self.created = created
  }
}

/// One filling of a queue: the same name may be filled with another job later, which its workers must notice.
public struct OpenQueue: Sendable, Hashable {
  /// Its location.
  public let location: QueueLocation
  /// The job of its entries.
  public let job: QueuedJob
  /// Identifies this filling; a random value.
  let filling: String
}

/// The size of a queue.
public struct QueueSize: Sendable, Hashable {
  /// The maximum of a count that is read, so that sums don't overflow.
  static let maximum: UInt64 = 1 << 40

  /// Rows of manifests, including bad ones.
  public var entries: UInt64
  /// Messages that contain them.
  public var messages: UInt64

  /// Creates a size.
  public init(entries: UInt64, messages: UInt64) {
    self.entries = entries
    self.messages = messages
  }
}

/// The names of a manifest for reports; entries refer to it by index.
public struct QueuedManifest: Sendable, Hashable {
  /// Its name, as reports show it.
  public var name: String
  /// The absolute path of the file with its entries; nil if they aren't in a file.
  public var file: String?

  /// Creates a manifest with that name.
  public init(name: String, file: String?) {
    (self.name, self.file) = (name, file)
  }

  /// The field of a queue's job for its name.
  static func nameField(_ index: Int) -> String { "manifest:\(index)" }
  /// The field of a queue's job for its file.
  static func fileField(_ index: Int) -> String { "file:\(index)" }
}

/// Remarks of a queue's writer on the lists of its entries.
public struct ListRemarks: Sendable, Hashable {
  /// The maximum number of warnings.
  static let maximumWarnings = 1000

  /// The reason, as one sentence, why a list couldn't be read to its end, so that the queue lacks the rest; nil if all
  /// were read.
  public var breakage: String?
  /// Independent sentences, at most 1,000.
  public var warnings: [String]

  /// Creates remarks.
  public init(breakage: String? = nil, warnings: [String] = []) {
    (self.breakage, self.warnings) = (breakage, warnings)
  }

  /// The field of a queue's job for the breakage.
  private static let breakageField: RedisArgument = "breakage"
  /// The field of a queue's job for the number of warnings.
  private static let warningCountField: RedisArgument = "warnings"
  /// The field of a queue's job for a warning.
  private static func warningField(_ index: Int) -> RedisArgument { RedisArgument("warning:\(index)") }

  /// The fields and values of a queue's job.
  var fields: [RedisArgument] {
    let kept = warnings.prefix(Self.maximumWarnings)
    var fields = [Self.warningCountField, RedisArgument(kept.count)]
    for (index, warning) in kept.enumerated() { fields += [Self.warningField(index), RedisArgument(warning)] }
    if let breakage { fields += [Self.breakageField, RedisArgument(breakage)] }
    return fields
  }

  /// Reads the remarks; `fields` returns the values of fields of a queue's job.
  init<Failure: Error>(reading fields: ([RedisArgument]) throws(Failure) -> [RedisReply]) throws(Failure) {
    let found = try fields([Self.breakageField, Self.warningCountField])
    breakage = found.first?.text
    let count = Int(clamping: found.last?.count ?? 0)
    guard count > 0 else {
      warnings = []
      return
    }
    warnings = try fields((0..<min(count, Self.maximumWarnings)).map(Self.warningField)).compactMap(\.text)
  }
}
#endif
