public import Reports

/// A job's reports, open for being written, and what earlier runs say of the failures in them.
public final class JobReports {
  private let job: Job
  /// Which failures do not count.
  let earlierRuns: EarlierRuns
  /// The job's reports, in its order.
  let writers: [any ReportWriter]

  /// Reports of no run: none are written, and all failures count.
  init(withoutReports job: Job) { (self.job, earlierRuns, writers) = (job, EarlierRuns(), []) }

  /// Reads what earlier runs of `job` left, then opens its reports; nothing that is there already is touched.
  ///
  /// - Parameters:
  ///   - options: what reports have to know of the place where they are written.
  ///   - keepsState: whether the run is one of those that `fail-on.grace` counts; else their state is read, and stays as it is.
  ///   - isStopped: asked while long files are read; true: the run will end before it begins, so that the rest is not needed.
  public init(_ job: Job, options: ReportOptions, keepsState: Bool = true, isStopped: () -> Bool) throws(JobError) {
    self.job = job
    earlierRuns = try EarlierRuns(of: job, keepsState: keepsState, isStopped: isStopped)
    do throws(ReportError) {
      var writers: [any ReportWriter] = []
      for target in job.reports {
        var options = options
        options.listsSuccesses = target.listsSuccesses
        writers.append(try target.format.open(target.destination.path, options: options))
      }
      self.writers = writers
    } catch {
      throw .report(error)
    }
  }

  /// Who takes a row for each entry.
  var journals: [any ReportJournal] { writers.compactMap(\.journal) }

  /// The reports, a sentence each, for who wants to know.
  var notes: [String] {
    writers.isEmpty ? [] : job.reports.map { "report \($0.format.rawValue) to \($0.destination.path)" }
  }

  /// Writes the rows that `report` has counted so far; an error becomes the end's breakage.
  func flushJournals(of report: RunReport, _ end: inout RunEnd) {
    do throws(ReportError) {
      try report.flushJournals()
    } catch {
      end.breakage = end.breakage ?? "\(error)"
    }
  }

  /// Keeps what a run that ended so tells for the next one; to be called once.
  func keepState(after end: RunEnd) throws(JobError) {
    do throws(GraceStateError) {
      try earlierRuns.keep(after: end)
    } catch {
      throw .grace(error)
    }
  }

  /// Finishes the reports; returns why some could not be written, the others are.
  public func write(_ report: FinishedReport) -> [ReportError] {
    writers.compactMap { writer in
      do throws(ReportError) {
        try writer.finish(report)
        return nil
      } catch {
        return error
      }
    }
  }
}
