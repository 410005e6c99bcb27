/// How often URLs failed on end, kept in a file from run to run: `fail-on.grace`.
///
/// A failure counts when its entry failed in so many runs on end, this one included. Being good once forgets it. What was skipped,
/// cancelled, or not reached by a run that ended early stays as it was; what is not in the lists any more is forgotten. An entry
/// that stands in the lists twice counts once; where it ended differently, the last end stands.
///
/// Owned by the driver thread while the job runs; a failing entry costs some 32 bytes.
public final class GraceState: FailureJudge {
  /// How often an entry failed.
  struct Count: BitwiseCopyable, Equatable {
    /// In how many runs on end before this one.
    var before: UInt16 = 0
    /// The same, this one included.
    var now: UInt16 = 0
    /// Whether this run met it.
    var isMet = false
  }

  /// The file's path.
  public let path: String
  private let job: String
  private let runs: Int
  /// nil where it is only read.
  private let file: ReportFile?
  private var counts: EntryTable<Count>

  /// Reads the state at `path`, where there is one, and opens it to be written again, unless it is only read.
  ///
  /// - Parameters:
  ///   - job: the job's name; the state of another is refused.
  ///   - runs: in so many runs on end an entry has to fail to count; at least 2.
  ///   - isReadOnly: whether nothing is kept of this run: ``write(isWhole:)`` does nothing then.
  public init(path: String, job: String, runs: Int, isReadOnly: Bool = false) throws(GraceStateError) {
    self.path = path
    self.job = job
    self.runs = runs
    counts = try GraceStateFile.read(path, job: job)
    do throws(ReportError) {
      file = isReadOnly ? nil : try ReportFile(path: path)
    } catch {
      throw GraceStateError(path: path, writing: error)
    }
  }

  /// `inGrace` until an entry has failed often enough on end.
  public func standing(of entry: EntryKey) -> FailureStanding {
    let (place, _) = counts.placeAdding(entry)
    var count = counts[place]
    count.now = count.before == .max ? .max : count.before + 1
    count.isMet = true
    counts[place] = count
    return Int(count.now) >= runs ? .counts : .inGrace
  }

  /// Forgets that it ever failed.
  public func passed(_ entry: EntryKey) {
    // Entries that never failed, which are most of them, take no room.
    if let place = counts.place(of: entry) { counts[place] = Count(isMet: true) }
  }

  /// Keeps what is known of it.
  public func leftOpen(_ entry: EntryKey) {
    if let place = counts.place(of: entry) { counts[place].isMet = true }
  }

  /// Writes the state for the next run and puts it in its place; to be called once, after the run.
  ///
  /// - Parameter isWhole: whether the run read all of its lists, so that what it did not meet is in them no more.
  public func write(isWhole: Bool) throws(GraceStateError) {
    guard let file else { return }
    var failing: [(key: EntryKey, count: UInt16)] = []
    counts.forEach { key, count in
      if count.now > 0, count.isMet || !isWhole { failing.append((key, count.now)) }
    }
    do throws(ReportError) {
      try GraceStateFile.write(failing, job: job, to: file)
    } catch {
      throw GraceStateError(path: path, writing: error)
    }
  }
}

/// Why the state of `fail-on.grace` could not be read or written, as one sentence that names the file.
public struct GraceStateError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file's path.
  public var path: String
  /// What is wrong, as it follows the name.
  public var message: String

  /// The sentence: where, what, and what to do.
  public var description: String { "the state of fail-on.grace, \(path), \(message)" }
}
