import ImagePrimitives

/// What has to agree in a report, so that whoever renders it may add and subtract without a thought of overflow.
extension JSONReport {
  static func checkSums(of report: FinishedReport) throws(JSONError) {
    let totals = report.totals
    try check(UInt64(report.failures.count) <= totals.bad, "lists more failures than its totals count")
    let standings = report.standings
    try check(
      standings.counting + standings.known == totals.bad,
      "has standings that do not add up to failed and blacklisted"
    )
    try checkSum(report.manifests, \.totals.urls, atMost: totals.urls, "has manifests with more entries than its totals count")
    try checkSum(report.hosts, \.totals.urls, atMost: totals.urls, "has hosts with more entries than its totals count")
    let bytes = report.traffic.receivedBytes
    try checkSum(report.hosts, \.receivedBytes, atMost: bytes, "has hosts with more bytes than it downloaded")
    for host in report.hosts {
      let counts = host.remoteCaches.flatMap { [$0.hits, $0.misses, $0.unknown] }
      try checkSum(counts, \.self, atMost: host.totals.urls, "has a host of which caches on the way had more than its entries")
    }
    try check(Set(report.hosts.map(\.host)).count == report.hosts.count, "names a host twice")
    try checkSum(report.failureGroups, \.count, atMost: totals.bad, "has groups with more failures than its totals count")
    for group in report.failureGroups {
      try check(group.counting <= group.count, "has a group of which more failures count than it has")
      try check(UInt64(group.examples.count) <= group.count, "has a group with more examples than failures")
      let listed = group.hosts + [HostCount(host: "", count: group.elsewhere)]
      try checkSum(listed, \.count, atMost: group.count, "has a group with more failures by host than it has")
    }
    guard let timeline = report.timeline else { return }
    let steps = timeline.steps
    try check(steps.count <= Timeline.maximumSteps, "has a timeline of more than \(Timeline.maximumSteps) steps")
    try check(!steps.isEmpty, "has a timeline without steps")
    // Shorter ones would have rates beyond all counters.
    try check(timeline.step >= .milliseconds(1), "has a timeline of steps shorter than a millisecond")
    try check(steps.allSatisfy { $0.bad <= $0.urls }, "has a step of its timeline with more failures than entries")
  }

  private static func check(_ holds: Bool, _ message: String) throws(JSONError) {
    if !holds { throw JSONError(message) }
  }

  private static func checkSum<Element>(
    _ elements: [Element],
    _ path: KeyPath<Element, UInt64>,
    atMost limit: UInt64,
    _ message: String
  ) throws(JSONError) {
    var rest = limit
    for element in elements {
      try check(element[keyPath: path] <= rest, message)
      rest -= element[keyPath: path]
    }
  }
}
