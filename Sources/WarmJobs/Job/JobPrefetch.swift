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
    /// For the whole job; nil: none.
    public var deadline: Duration?
  }
}
