public import ImagePrimitives
public import Reports

extension Job {
  /// What is remembered as bad for good.
  public struct Blacklist: Sendable {
    /// Whether it is read and written at all.
    public var isEnabled: Bool
    /// Whether blacklisted URLs are asked anyway; a success takes one off.
    public var retry: Bool
    /// How long a URL stays on it; nil: for ever. 6 hours by default.
    public var ttl: Duration?
    /// HTTP statuses that are for good.
    public var statuses: [ClosedRange<Int>]
  }

  /// One report and where it goes.
  public struct ReportTarget: Sendable, Hashable {
    /// Where a report goes.
    public enum Destination: Sendable, Hashable {
      case standardOutput
      case file(JobPath)
    }

    /// How it is written.
    public var format: ReportFormat
    /// Where it goes.
    public var destination: Destination
    /// Whether a JUnit report lists what was good, too; false by default.
    public var listsSuccesses: Bool

    /// A report of that format.
    public init(format: ReportFormat, destination: Destination, listsSuccesses: Bool = false) {
      self.format = format
      self.destination = destination
      self.listsSuccesses = listsSuccesses
    }
  }

  /// What makes the exit status 2: any one of these rules broken.
  public struct FailOn: Sendable {
    /// How many entries may fail or be blacklisted.
    public enum Threshold: Sendable, Hashable {
      /// More than so many are too many.
      case count(Int)
      /// More than this part (0 to 1) of what was neither skipped nor cancelled is too much.
      case fraction(Double)
      case never
    }

    /// The points of the distribution of latencies that have rules.
    public typealias Percentile = Reports.FailOn.Percentile

    /// Failed and blacklisted entries; none by default.
    public var failures: Threshold
    /// How many of a kind may fail or be blacklisted, beside ``failures``; no rule by default.
    public var kinds: [FailureKind: Threshold]
    /// How long transfers may take at a percentile; no rule by default.
    public var latency: [FailOn.Percentile: Duration]
    /// An earlier report, whose failures do not count; nil: all count.
    public var baseline: JobPath?
    /// No entry left after include and exclude.
    public var empty: Bool
    /// The deadline cancelled something.
    public var unfinished: Bool
    /// Trimming had to remove what this very run stored.
    public var evicted: Bool
  }
}
