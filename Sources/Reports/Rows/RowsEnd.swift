import Base

/// The last line of a shard's rows, `{"shard":"1/2","job":{…},…}`: its part of the job and how its run ended, with the names of a JSON
/// report. So a merge notices a missing, empty or unfinished shard.
package struct RowsEnd {
  var job = JobIdentity()
  var startedAt: Timestamp?
  var end = RunEnd(finishedAt: nil, duration: .zero)
  var failOn = FailOn()

  init() {}

  init(_ report: FinishedReport) {
    (job, startedAt, end, failOn) = (report.job, report.startedAt, report.end, report.failOn)
  }

  /// As a line of a report.
  func append(to output: inout OutputBuffer) { output.append(jsonTree.line + "\n") }
}

extension RowsEnd: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONError) {
    json.derived("shard", job.shard?.label)
    try json.field("job", &job)
    try json.field("started_at", &startedAt)
    try end.codeRun(&json)
    try json.field("fail_on", &failOn)
    try json.check(job.shard != nil, "names no shard")
  }
}

extension ReportedShard {
  /// `2/5`, as `--shard` accepts it.
  var label: String { "\(index)/\(count)" }
}
