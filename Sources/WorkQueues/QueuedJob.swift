#if Queue
public import ImagePrimitives
import RedisClient

/// What is to be done with a queue's entries, as its writer tells its workers: opaque here.
public struct QueuedJob: Sendable, Hashable {
  /// The most variants of a URL.
  public static let maximumVariants = 1024
  /// Nothing was created farther from 1970, either way: some 35,000 years.
  static let maximumMilliseconds: Int64 = 1 << 50

  /// The job, in a form that writer and workers agree on.
  public var contents: [UInt8]
  /// What tells the job from others: text that changes when anything changes that matters.
  public var digest: String
  /// How many variants of each URL are requested.
  public var variantCount: Int
  /// When it was put into the queue first.
  public var created: Timestamp

  /// A job.
  public init(contents: [UInt8], digest: String, variantCount: Int, created: Timestamp) {
    self.contents = contents
    self.digest = digest
    self.variantCount = variantCount
    self.created = created
  }
}

/// A queue as it was filled once: the same name may be filled with another job later, which its workers have to notice.
public struct OpenQueue: Sendable, Hashable {
  /// Where it is.
  public let location: QueueLocation
  /// What is to be done with its entries.
  public let job: QueuedJob
  /// What tells this filling from others, drawn at its beginning.
  let filling: String
}

/// How much was put into a queue.
public struct QueueSize: Sendable, Hashable {
  /// No count of a queue that is read is greater, so that sums of them do not overflow.
  static let maximum: UInt64 = 1 << 40

  /// Rows of manifests, bad ones too.
  public var entries: UInt64
  /// Messages that they were put into.
  public var messages: UInt64

  /// That much.
  public init(entries: UInt64, messages: UInt64) {
    self.entries = entries
    self.messages = messages
  }
}

/// What a manifest is called, so that results can be told by it; entries name it by its index.
public struct QueuedManifest: Sendable, Hashable {
  /// Its name, as reports show it.
  public var name: String
  /// The absolute path of the file in which its entries stand; nil where they stand in none.
  public var file: String?

  /// A manifest of that name.
  public init(name: String, file: String?) {
    (self.name, self.file) = (name, file)
  }

  /// The field of a queue's job that has its name.
  static func nameField(_ index: Int) -> String { "manifest:\(index)" }
  /// The field of a queue's job that has its file.
  static func fileField(_ index: Int) -> String { "file:\(index)" }
}

/// What the writer of a queue tells of the lists that its entries came from, beside the entries.
public struct ListRemarks: Sendable, Hashable {
  /// So many warnings are kept.
  static let maximumWarnings = 1000

  /// One sentence on why a list could not be read to its end, so that the queue lacks what came behind; nil where all were.
  public var breakage: String?
  /// Sentences of which each tells something by itself; the first 1,000 are kept.
  public var warnings: [String]

  /// Nothing to remark, or that.
  public init(breakage: String? = nil, warnings: [String] = []) {
    (self.breakage, self.warnings) = (breakage, warnings)
  }

  /// The field of a queue's job that has the breakage.
  private static let breakageField: RedisArgument = "breakage"
  /// The field of a queue's job that has how many warnings there are.
  private static let warningCountField: RedisArgument = "warnings"
  /// The field of a queue's job that has a warning.
  private static func warningField(_ index: Int) -> RedisArgument { RedisArgument("warning:\(index)") }

  /// Fields and values of a queue's job.
  var fields: [RedisArgument] {
    let kept = warnings.prefix(Self.maximumWarnings)
    var fields = [Self.warningCountField, RedisArgument(kept.count)]
    for (index, warning) in kept.enumerated() { fields += [Self.warningField(index), RedisArgument(warning)] }
    if let breakage { fields += [Self.breakageField, RedisArgument(breakage)] }
    return fields
  }

  /// Reads them back; `fields` gives the values of fields of a queue's job.
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
