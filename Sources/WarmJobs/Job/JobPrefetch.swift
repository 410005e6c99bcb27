extension Job {
  /// In which order, and how many at once.
  public struct Prefetch: Sendable {
    /// The order within a priority class; last in, first out reverses across manifests too.
    public enum Order: String, Sendable, CaseIterable {
      case fifo, lifo
    }

    /// First in, first out by default.
    public var order: Order
    /// Transfers in flight, 1 to 4096; 32 by default.
    public var concurrency: Int
    /// Transfers in flight to one host (name and port), 1 to 4096; 8 by default.
    public var perHost: Int
    /// Requests begun a second over all hosts; nil: any number.
    public var rate: Double?
    /// The same at one host.
    public var perHostRate: Double?
    /// Whether each host's number of transfers is found by itself, up to ``perHost``; false by default.
    public var isAdaptive: Bool
    /// For the whole job; nil: none.
    public var deadline: Duration?
  }
}
