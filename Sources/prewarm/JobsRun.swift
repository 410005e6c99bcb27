import ArgumentParser
import Glibc
import ImageDownloading
import ImageManaging
import Reports
import Threads
import WarmJobs

/// Runs jobs for the commands that do, one after another over one shared manager.
struct JobsRun {
  let display: DisplayOptions
  /// Whether it is only told what would be fetched.
  var isDryRun = false
  /// What stands first in text reports.
  var order = TextReport.Order.verdictFirst

  /// Opens all that the jobs of `load` need, runs them, and throws the exit status: of several jobs the worst.
  func run(_ load: () throws -> [Job]) throws {
    // Before anything can start a thread.
    SignalWatcher.prepare()
    OpenFiles.raiseLimit()
    let jobs = try load()
    let control = RunControl()
    let progress = ProgressPrinter(display)
    do throws(ThreadRefusal) {
      try SignalWatcher.start { signal in
        control.stop(signal: signal)
        progress.note("stopping: what is in flight has 5 s to finish; a second signal ends at once")
      }
    } catch {
      throw CommandFailure(.couldNotFinish, "\(error)")
    }
    let prepared = try prepare(jobs, control)
    let manager: ImageManager
    do {
      manager = try ImageManager()
    } catch {
      throw CommandFailure(.couldNotFinish, "\(error)")
    }
    let runner = JobRunner(manager: manager, version: PrewarmVersion.current, control: control)
    var worst = ExitStatus.withinLimits
    for job in prepared {
      worst = max(worst, isDryRun ? listMisses(job, runner) : warm(job, runner, progress))
    }
    manager.shutDown()
    throw ExitCode(worst.rawValue)
  }

  /// The jobs with everything open that they need.
  private func prepare(_ jobs: [Job], _ control: RunControl) throws -> [PreparedJob] {
    guard jobs.flatMap(\.manifests).filter(\.isStandardInput).count <= 1 else {
      throw CommandFailure(.misused, "standard input is named more than once, but can be read only once")
    }
    do throws(JobClash) {
      try jobs.checkOutputs()
    } catch {
      throw CommandFailure(.misused, "\(error)")
    }
    var prepared: [PreparedJob] = []
    for job in jobs {
      do throws(JobError) {
        let options = display.reportOptions(order)
        prepared.append(
          try PreparedJob(job, reportOptions: options, isDryRun: isDryRun) { control.signal != nil }
        )
      } catch {
        // Manifests that no job file names, the command line does.
        if case .manifest = error, job.file == nil { throw CommandFailure(.misused, "\(error)") }
        throw CommandFailure(.couldNotFinish, "\(job.name): \(error)")
      }
      if display.verbose { prepared.last?.notes.forEach { Note.plain("\(job.name): \($0)") } }
    }
    return prepared
  }

  private func warm(_ prepared: PreparedJob, _ runner: JobRunner, _ progress: ProgressPrinter) -> ExitStatus {
    let report = runner.run(prepared, progress: progress)
    var status = report.exitStatus
    if let breakage = report.end.breakage { Note.error("\(report.job.name): \(breakage)") }
    if display.verbose {
      Note.plain("\(report.job.name): done with exit status \(report.exitStatus.rawValue)")
      for reason in report.verdict.reasons { Note.plain("\(report.job.name): \(reason)") }
    }
    for error in prepared.writeReports(report) {
      Note.error("\(error)")
      status = max(status, .couldNotFinish)
    }
    return status
  }

  /// A dry run: URLs to standard output, a summary to standard error.
  private func listMisses(_ prepared: PreparedJob, _ runner: JobRunner) -> ExitStatus {
    let output = LineOutput(STDOUT_FILENO)
    var misses: UInt64 = 0
    let report = runner.run(prepared) { url in
      misses += 1
      output.append(url)
    }
    output.flush()
    if !display.quiet {
      let others = prepared.job.cache.mode == .only ? "filtered out or not in the cache" : "filtered out"
      Note.plain(Self.summary(of: report, misses: misses, others: others))
    }
    if let breakage = report.end.breakage {
      Note.error("\(report.job.name): \(breakage)")
      return .couldNotFinish
    }
    if output.hasFailed { Note.error("standard output could not be written") }
    return output.hasFailed ? .couldNotFinish : report.end.interruption == nil ? .withinLimits : report.exitStatus
  }

  private static func summary(of report: FinishedReport, misses: UInt64, others: String) -> String {
    let totals = report.totals
    let counts = [
      (misses, "to fetch"), (totals.hits, "in the cache"), (totals.blacklisted, "known bad"), (totals.failed, "no valid URL"),
      (totals.skipped - misses, others),
    ]
    let parts = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let list = parts.isEmpty ? "" : ": \(parts.joined(separator: ", "))"
    return "\(report.job.name): \(counted(totals.urls, "URL"))\(list); nothing was fetched"
  }
}
