import ImagePrimitives
import Reporting

/// What has to agree in a report, so that whoever renders it may add and subtract without a thought of overflow.
extension JSONReportReader {
  static func checkSums(of report: FinishedReport) throws(JSONProblem) {
    let totals = report.totals
    try check(UInt64(report.failures.count) <= totals.bad, "lists more failures than its totals count")
    let standings = report.standings
    try check(
      standings.counting + standings.known + standings.inGrace == totals.bad,
      "has standings that do not add up to failed and blacklisted"
    )
    try checkSum(report.manifests, \.totals.urls, atMost: totals.urls, "has manifests with more entries than its totals count")
    try checkSum(report.hosts, \.totals.urls, atMost: totals.urls, "has hosts with more entries than its totals count")
    let bytes = report.traffic.receivedBytes
    try checkSum(report.hosts, \.receivedBytes, atMost: bytes, "has hosts with more bytes than it downloaded")
    try check(Set(report.hosts.map(\.host)).count == report.hosts.count, "names a host twice")
    try checkSum(report.failureGroups, \.count, atMost: totals.bad, "has groups with more failures than its totals count")
    for group in report.failureGroups {
      try check(group.counting <= group.count, "has a group of which more failures count than it has")
      try check(UInt64(group.examples.count) <= group.count, "has a group with more examples than failures")
      let listed = group.hosts + [HostCount(host: "", count: group.elsewhere)]
      try checkSum(listed, \.count, atMost: group.count, "has a group with more failures by host than it has")
    }
    // Ours have 120 steps at most.
    let steps = report.timeline?.steps ?? []
    try check(steps.count <= 10_000, "has a timeline of too many steps")
    try check(steps.allSatisfy { $0.bad <= $0.urls }, "has a step of its timeline with more failures than entries")
  }

  private static func check(_ holds: Bool, _ message: String) throws(JSONProblem) {
    if !holds { throw JSONProblem(message) }
  }

  private static func checkSum<Element>(
    _ elements: [Element],
    _ path: KeyPath<Element, UInt64>,
    atMost limit: UInt64,
    _ message: String
  ) throws(JSONProblem) {
    var rest = limit
    for element in elements {
      try check(element[keyPath: path] <= rest, message)
      rest -= element[keyPath: path]
    }
  }
}
