import ImagePrimitives

/// How an entry ended in one of two reports, in 32 bytes.
struct EntryFacts: BitwiseCopyable {
  enum State: UInt8 {
    /// The report does not have it.
    case absent
    /// Skipped or cancelled: nothing is known of it.
    case open
    case good
    case bad
  }

  private static let none = UInt8.max

  private(set) var bytes: UInt64 = 0
  /// The lower half of the body's hash; 0 where it is not known.
  private(set) var hash: UInt64 = 0
  private(set) var width: UInt32 = 0
  private(set) var height: UInt32 = 0
  /// 0 where there is none.
  private(set) var status: UInt16 = 0
  private(set) var state = State.absent
  private var kindNumber = none
  private var formatNumber = none
  /// Whether the other report lists the entry, too.
  var isListed = false
  /// Whether the two ends were compared, which they are once.
  var isCompared = false

  init() {}

  /// What a row tells.
  init(_ result: EntryResult) {
    self.init()
    switch result.outcome {
    case .failed, .blacklisted:
      self = EntryFacts(result.failure)
      return
    case .skipped, .cancelled: state = .open
    case .hitMemory, .hitDisk, .downloaded, .revalidated, .checked: state = .good
    }
    bytes = result.bytes
    hash = result.checksum?.low ?? 0
    width = result.width
    height = result.height
    formatNumber = result.format?.rawValue ?? Self.none
  }

  /// A failure, whose reason may not be known.
  init(_ failure: Failure?) {
    state = .bad
    kindNumber = failure?.kind.rawValue ?? Self.none
    // What is no status would make groups without end.
    status = failure?.status.flatMap { (100...999).contains($0) ? UInt16($0) : nil } ?? 0
  }

  var kind: FailureKind? { FailureKind(rawValue: kindNumber) }
  var format: ImageFormat? { ImageFormat(rawValue: formatNumber) }
}
