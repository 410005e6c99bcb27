public import Reports

/// Who shows how a job gets on; called on the driver thread.
public protocol JobProgress: AnyObject {
  /// Called about ten times a second while the job runs.
  func show(_ snapshot: ProgressSnapshot)
  /// The job has ended: what is on the screen makes way.
  func end()
}
