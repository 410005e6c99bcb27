import ImageURLs
import Reports
import WarmJobs

/// Which part of a job has a URL.
struct ExplainedShard {
  /// The part that has it.
  let holder: ReportedShard
  /// The part that was asked about.
  let asked: ReportedShard

  /// Whether the part that was asked about has it.
  var isOwn: Bool { holder == asked }

  /// Nil where `job` is not cut.
  init?(of url: BaseURL, _ job: Job) {
    guard let holder = job.reportedShard(of: url), let asked = job.reportedShard else { return nil }
    (self.holder, self.asked) = (holder, asked)
  }
}
