public import ImagePrimitives

/// One image to fetch: its URL, its options and its position in the queue.
public struct Download: Sendable {
  /// The caller's number, which all events carry; unique among the downloads of one ``DownloadClient`` that have not ended.
  public var id: UInt64
  /// The normalised URL in ASCII bytes; its userinfo, if any, is sent as Basic credentials to its own host only. For a URL that
  /// an ``ImageLoader`` takes, whatever that loader understands.
  public var requestURL: [UInt8]
  /// The class: a higher one starts first.
  public var priority: Priority
  /// The position within the class: the lowest starts first; of equal ones, the one submitted first.
  public var sequence: Int64
  /// How it is downloaded.
  public var prepared: PreparedOptions
  /// Identify the image that the caller has: sent as `If-None-Match` and `If-Modified-Since` (RFC 9110, section 13.1), on each hop
  /// that stays at the download's own origin; a 304 then ends it as ``DownloadEvent/notModified(id:_:)``. None by default: a 304
  /// is then a refused status as any other.
  public var validators: Validators?
  /// Whether ``DownloadEvent/started(id:)``, ``DownloadEvent/response(id:_:)`` and
  /// ``DownloadEvent/progress(id:received:expected:)`` are sent; false by default.
  public var wantsProgress: Bool
  /// The least time between two reports of progress, the first and the last excepted; zero by default, which reports at most
  /// once per iteration of the transfer thread.
  public var progressInterval: Duration
  /// Whether ``TransferSummary/details`` are filled; false by default.
  public var wantsDetails: Bool

  /// A download of `requestURL`.
  public init(
    id: UInt64,
    requestURL: [UInt8],
    priority: Priority = .normal,
    sequence: Int64 = 0,
    options prepared: PreparedOptions,
    validators: Validators? = nil,
    wantsProgress: Bool = false,
    progressInterval: Duration = .zero,
    wantsDetails: Bool = false
  ) {
    self.id = id
    self.requestURL = requestURL
    self.priority = priority
    self.sequence = sequence
    self.prepared = prepared
    self.validators = validators
    self.wantsProgress = wantsProgress
    self.progressInterval = progressInterval
    self.wantsDetails = wantsDetails
  }

  /// How it is downloaded.
  public var options: DownloadOptions { prepared.options }
}

/// The order in which downloads of one class start.
public enum DownloadOrder: Sendable {
  /// First in, first out.
  case fifo
  /// Last in, first out.
  case lifo

  /// The ``Download/sequence`` of the download that came as number `arrival`.
  public func sequence(ofArrival arrival: Int64) -> Int64 { self == .fifo ? arrival : -arrival }
}
