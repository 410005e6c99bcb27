public import ImagePrimitives

/// One image to fetch: where it is, and its place among what waits.
public struct Download: Sendable {
  /// The caller's number, which all events carry; unique among downloads that have not ended.
  public var id: UInt64
  /// The normalised URL in ASCII bytes; its userinfo, if any, is sent as Basic credentials to its own host only.
  public var url: [UInt8]
  /// The class: a higher one starts first.
  public var priority: Priority
  /// The place within the class: the lowest starts first. Of equal ones, the one submitted first.
  public var sequence: Int64
  /// How it is fetched.
  public var options: DownloadOptions

  /// A download of `url`.
  public init(id: UInt64, url: [UInt8], priority: Priority = .normal, sequence: Int64 = 0, options: DownloadOptions) {
    self.id = id
    self.url = url
    self.priority = priority
    self.sequence = sequence
    self.options = options
  }
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
