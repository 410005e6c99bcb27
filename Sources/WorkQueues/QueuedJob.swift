public import ImagePrimitives

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
  public let place: QueuePlace
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
