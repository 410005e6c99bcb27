/// Calls a closure when memory is short.
public final class MemoryPressureMonitor: Sendable {
  /// Why memory pressure cannot be watched here.
  public struct Unavailable: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence that names each file that was tried and why it does not do.
    public let description: String
  }

  /// The file that is watched.
  public let watchedFile: String

  /// Starts to watch the first of the sources that can be watched.
  public init(
    sources: MemoryPressureSources? = nil,
    onPressure: @escaping @Sendable () -> Void
  ) throws(Unavailable) {
    fatalError()
  }

  /// Ends the watching.
  public func stop() {}
}
