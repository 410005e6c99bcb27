public import Reports

/// A job's reports, open for being written, and its baseline.
public final class JobReports {
  private let job: Job
  /// The failures of an earlier run, which do not count; nil: all count.
  package let baseline: FailureBaseline?
  /// Sentences for the report.
  public let warnings: [String]
  /// How many failures reports list.
  package let listedFailures: Int
  /// The job's reports, in its order.
  let writers: [any ReportWriter]

  /// Reads the baseline, then opens the reports; nothing that is there already is touched.
  ///
  /// - Parameters:
  ///   - options: what reports have to know of the place where they are written.
  ///   - isDryRun: a dry run writes no report.
  ///   - isStopped: asked while long files are read; true: the run will end before it begins, so that the rest is not needed.
  public init(_ job: Job, options: ReportOptions, isDryRun: Bool = false, isStopped: () -> Bool) throws(JobError) {
    self.job = job
    let path = job.baseline
    do throws(ReportReadingError) {
      baseline = try path.flatMap { path throws(ReportReadingError) in
        try FailureBaseline(path: path.absolute, isStopped: isStopped)
      }
    } catch {
      throw .baseline(error)
    }
    warnings =
      if let path, baseline == nil {
        ["fail-on.baseline: \(path.written) does not exist, so every failure counts"]
      } else {
        []
      }
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
  }

  /// The reports that take a row for each entry.
  package var journals: [any ReportJournal] { writers.compactMap(\.journal) }

  /// The reports, a sentence each, for logs.
  var notes: [String] {
    writers.isEmpty ? [] : job.reports.map { "report \($0.format.rawValue) to \($0.destination.path)" }
  }

  /// Writes the rows that `report` has counted so far; an error becomes the end's breakage.
  package func flushJournals(of report: RunReport, _ end: inout RunEnd) {
    do throws(ReportError) {
      try report.flushJournals()
    } catch {
      end.breakage = end.breakage ?? "\(error)"
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
