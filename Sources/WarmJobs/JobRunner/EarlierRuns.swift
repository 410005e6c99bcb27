import Reports

/// What earlier runs say of the failures of this one: which of them do not count.
struct EarlierRuns {
  /// Who tells; nil: all failures count.
  let judge: (any FailureJudge)?
  /// Sentences for the report.
  let warnings: [String]
  private let grace: GraceState?

  /// A run in which all failures count.
  init() { (judge, warnings, grace) = (nil, [], nil) }

  /// Reads what the job's rules name, before a report of this run is opened: it may be the very file that is read.
  ///
  /// - Parameters:
  ///   - keepsState: whether this run counts for the next one.
  ///   - isStopped: whether the run is to end before it has begun, as after a signal: then what is read is not read to its end.
  init(of job: Job, keepsState: Bool, isStopped: () -> Bool) throws(JobError) {
    var warnings: [String] = []
    var judges: [any FailureJudge] = []
    if let path = job.failOn.newFailuresSince {
      do throws(ReportReadingError) {
        if let baseline = try FailureBaseline(path: path.absolute, isStopped: isStopped) {
          judges.append(baseline)
        } else {
          warnings.append("fail-on.new-failures-since: there is no \(path.written) yet, so every failure counts as new")
        }
      } catch {
        throw .baseline(error)
      }
    }
    do throws(GraceStateError) {
      grace = try job.failOn.grace.map { rule throws(GraceStateError) in
        try GraceState(path: rule.state.absolute, job: job.identity.title, runs: rule.runs, isReadOnly: !keepsState)
      }
    } catch {
      throw .grace(error)
    }
    if let grace { judges.append(grace) }
    judge = judges.count > 1 ? CombinedJudge(judges) : judges.first
    self.warnings = warnings
  }

  /// Keeps what this run tells for the next one.
  func keep(after end: RunEnd) throws(GraceStateError) {
    try grace?.write(isWhole: end.interruption == nil && end.breakage == nil && end.areManifestsRead)
  }
}
