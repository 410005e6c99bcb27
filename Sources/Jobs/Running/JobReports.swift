import ImageDownloading
import Notices
package import Reports

/// A job's open reports, and its baseline.
package final class JobReports {
  private let job: Job
  /// The failures of an earlier run, which don't count; nil if all count.
  let baseline: FailureBaseline?
  /// What the last runs say.
  let memory: RunMemory
  /// Warnings for the report, one sentence each.
  package private(set) var warnings: [String]
  /// The maximum number of failures in reports.
  let listedFailures: Int
  let writers: [any ReportWriter]
  private let notices: [Notice]

  /// Reads the baseline, then opens the reports, unless it is a dry run; existing files stay unchanged.
  ///
  /// - Parameter isStopped: polled while long files are read; true ends reading early, since the run will not start.
  package init(_ job: Job, options: ReportOptions, isDryRun: Bool = false, isStopped: () -> Bool) throws(JobError) {
    self.job = job
    let path = job.baseline
    do throws(ReportReadingError) {
      baseline = try path.flatMap { path throws(ReportReadingError) in
        try FailureBaseline(path: path.absolute, name: path.written, isStopped: isStopped)
      }
    } catch {
      throw .baseline(error)
    }
    warnings =
      if let path, baseline == nil {
        ["fail-on.baseline: \(path.absolute) doesn't exist, so every failure counts"]
      } else if let path, baseline?.isEmpty == true {
        ["fail-on.baseline: \(path.absolute) is of a run without entries, so every failure counts"]
      } else if let path, baseline?.isPartial == true {
        ["fail-on.baseline: \(path.absolute) is of a run that stopped early; failures that it didn't reach count as new"]
      } else {
        []
      }
    memory = RunMemory(temporaryRuns: Int(job.failOn.temporaryRuns))
    notices = isDryRun ? [] : try job.notices()
    listedFailures = options.terminal.failureLimit
    do throws(ReportError) {
      var writers: [any ReportWriter] = []
      for target in isDryRun ? [] : job.reports {
        var options = options
        options.listsSuccesses = target.listsSuccesses
        writers.append(try target.format.open(target.destination.path, options: options))
      }
      self.writers = writers
    } catch {
      throw .report(error)
    }
    if !isDryRun { warnings += recall(job.lastReport) }
  }

  /// Reads the last run's report, and returns warnings if it can't tell what was bad.
  private func recall(_ path: JobPath?) -> [String] {
    let consequence = "so what may be temporary counts at once"
    let isNeeded = job.failOn.temporaryRuns > 1
    guard let path else { return isNeeded ? ["fail-on.temporary: the job has no JSON report, \(consequence)"] : [] }
    do throws(ReportReadingError) {
      if try memory.read(path.absolute) || !isNeeded { return [] }
      return ["fail-on.temporary: there is no report of an earlier run, \(consequence)"]
    } catch {
      return ["the last report can't be compared with: \(error)\(isNeeded ? ", \(consequence)" : "")"]
    }
  }

  /// The reports that record a row for each entry.
  var journals: [any ReportJournal] { writers.compactMap(\.journal) }

  var notes: [String] {
    writers.isEmpty ? [] : job.reports.map { "report \($0.format.rawValue) to \($0.destination.path)" }
  }

  /// Writes the rows that `report` has counted so far; an error is recorded as the breakage of `end`.
  func flushJournals(of report: RunReport, _ end: inout RunEnd) {
    do throws(ReportError) {
      try report.flushJournals()
    } catch {
      if !error.isReaderGone { end.breakage = end.breakage ?? "\(error)" }
    }
  }

  /// Sends the notifications of the run that are due; returns a sentence for each that couldn't be sent.
  package func notify(about report: FinishedReport) -> [String] {
    notices.send(about: report, over: job.downloadOptions.connection)
  }

  package func write(_ report: FinishedReport) -> [ReportError] {
    writers.compactMap { writer in
      do throws(ReportError) {
        try writer.finish(report)
        return nil
      } catch {
        return error.isReaderGone ? nil : error
      }
    }
  }
}
