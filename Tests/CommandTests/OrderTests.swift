import TestOrigin
import TestSupport
import Testing

/// Order and limits as the origin observed them.
@Suite struct OrderTests {
  private static let classes = ["very-high", "high", "normal", "low", "very-low"]

  enum Form: String, CaseIterable {
    case text, csv, gzip
  }

  /// A job over 30 images with alternating priorities, in one form; the URLs by priority, in the manifest's order.
  private func makeJob(_ form: Form, _ origin: Origin, order: String) async throws -> (JobFolder, [[String]]) {
    let urls = imageURLs(origin, 0..<30)
    let byClass = Self.classes.indices.map { place in urls.enumerated().filter { $0.offset % 5 == place }.map(\.element) }
    let keys = "prefetch: {order: \(order), concurrency: 1}"
    switch form {
    case .csv:
      let job = JobFolder("manifests: [{path: urls.csv}]\n\(keys)")
      let rows = urls.enumerated().map { "\($0.element),\(Self.classes[$0.offset % 5])\n" }
      job.folder.write("url,priority\n" + rows.joined(), to: "urls.csv")
      return (job, byClass)
    case .text, .gzip:
      // One manifest per priority, in reverse, so that their order in the job doesn't sort them.
      let suffix = form == .gzip ? ".gz" : ""
      let manifests = Self.classes.reversed().map { "{path: \($0).txt\(suffix), priority: \($0)}" }
      let job = JobFolder("manifests: [\(manifests.joined(separator: ", "))]\n\(keys)")
      for (place, name) in Self.classes.enumerated() {
        job.write(urls: byClass[place], to: "\(name).txt")
        if form == .gzip { _ = try await Command.run("/bin/gzip", [job.folder.file("\(name).txt")]) }
      }
      return (job, byClass)
    }
  }

  @Test(arguments: Form.allCases)
  func `FIFO keeps the manifest's order within each priority, and higher priorities go first`(form: Form) async throws {
    let origin = try makeImageOrigin()
    let (job, byClass) = try await makeJob(form, origin, order: "fifo")
    #expect(try await job.runJob().status == 0)
    #expect(origin.requests.map { origin.url($0.path) } == byClass.flatMap { $0 })
  }

  @Test(arguments: Form.allCases)
  func `LIFO reverses the order within each priority, and higher priorities go first`(form: Form) async throws {
    let origin = try makeImageOrigin()
    let (job, byClass) = try await makeJob(form, origin, order: "lifo")
    #expect(try await job.runJob().status == 0)
    #expect(origin.requests.map { origin.url($0.path) } == byClass.flatMap { $0.reversed() })
  }

  @Test(arguments: ["fifo", "lifo"])
  func `eight transfers run at once and never more, in both orders, until fewer are left`(order: String) async throws {
    let origin = try makeImageOrigin()
    let gate = origin.holdAll()
    let job = JobFolder(urls: imageURLs(origin, 0..<40), keys: "prefetch: {order: \(order), concurrency: 8, per-host: 8}")
    let command = try job.startJob(isHeld: true)
    for finished in 0..<33 {
      // Eight wait at the gate before any continues; a ninth would be seen in the peak.
      try await gate.waitForWaiting(8)
      try await origin.waitForRequests(8 + finished)
      gate.step()
    }
    gate.open()
    #expect(try await command.wait().status == 0)
    #expect(origin.peakInFlight == 8)
  }

  @Test func `two transfers run at once to one host while others are used`() async throws {
    let origin = try makeImageOrigin(hosts: 3)
    let gate = origin.holdAll()
    let urls = (0..<3).flatMap { imageURLs(origin, 0..<12, host: $0) }
    let job = JobFolder(urls: urls, keys: "prefetch: {concurrency: 32, per-host: 2}")
    let command = try job.startJob(isHeld: true)
    try await gate.waitForWaiting(6)
    gate.open()
    #expect(try await command.wait().status == 0)
    for host in 0..<3 { #expect(origin.peakInFlight(host: host) == 2) }
  }

  @Test func `a pipe starts before its end`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder("manifests: [{path: '-'}]")
    let command = try job.startJob(input: .open)
    command.write("\(origin.url("/images/1.jpg"))\n")
    try await origin.waitForRequests(1)
    command.write("\(origin.url("/images/2.jpg"))\n")
    command.closeInput()
    let run = try job.finishedRun(try await command.wait())
    #expect(run.status == 0 && run.totals["downloaded"] == 2)
  }
}
