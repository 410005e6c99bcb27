/// How a run went over its time: what was done in each of some steps of equal length.
public struct Timeline: Sendable, Equatable {
  /// What was done in one step.
  public struct Step: Sendable, Equatable {
    /// Entries that ended.
    public var urls: UInt64
    /// Those of them that failed or were blacklisted.
    public var bad: UInt64
    /// Bytes of bodies received.
    public var receivedBytes: UInt64

    /// A step.
    public init(urls: UInt64 = 0, bad: UInt64 = 0, receivedBytes: UInt64 = 0) {
      self.urls = urls
      self.bad = bad
      self.receivedBytes = receivedBytes
    }
  }

  /// So many steps at most.
  package static let maximumSteps = 120

  /// How long each step is.
  public var step: Duration
  /// The steps from the start of the run on; the last may have been cut by its end.
  public var steps: [Step]

  /// A timeline of those steps.
  public init(step: Duration, steps: [Step]) {
    self.step = step
    self.steps = steps
  }
}
