/// How much a downloader does at once, and how fast it begins.
public struct DownloadLimits: Sendable, Hashable {
  /// Transfers at once; at least 1.
  public var concurrency: Int
  /// Transfers at once to one host (name and port); at least 1.
  public var perHost: Int
  /// Requests begun a second over all hosts, evenly and without bursts; nil: any number.
  public var rate: Double?
  /// The same at one host.
  public var perHostRate: Double?
  /// Whether each host's number of transfers is found by itself, up to ``perHost``: one more for as long as that goes well, half of them
  /// where it fails, is told to wait, or gets slower.
  public var isAdaptive: Bool

  /// Limits; those below 1, and rates that are not above zero, are a programmer's error and trap where they are used.
  public init(
    concurrency: Int = 6,
    perHost: Int = 8,
    rate: Double? = nil,
    perHostRate: Double? = nil,
    isAdaptive: Bool = false
  ) {
    self.concurrency = concurrency
    self.perHost = perHost
    self.rate = rate
    self.perHostRate = perHostRate
    self.isAdaptive = isAdaptive
  }
}
