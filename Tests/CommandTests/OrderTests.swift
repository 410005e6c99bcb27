import TestOrigin
import TestSupport
import Testing

/// Order and limits as the origin observed them.
@Suite struct OrderTests {
  private let origin = makeImageOrigin()

  private static let classes = ["very-high", "high", "normal", "low", "very-low"]

  @Test(arguments: ["fifo", "lifo"], ["csv", "txt", "txt.gz"])
  func `higher priorities go first, and within each the list's order or its reverse`(order: String, form: String) async throws {
    let urls = imageURLs(origin, 0..<30)
    let byClass = Self.classes.indices.map { place in urls.enumerated().filter { $0.offset % 5 == place }.map(\.element) }
    // One list per priority, in reverse, so that their order in the job doesn't sort them.
    let lists = Self.classes.reversed().map { "{path: \($0).\(form), priority: \($0)}" }.joined(separator: ", ")
    let manifests = form == "csv" ? "{path: urls.csv}" : lists
    let job = JobFolder("manifests: [\(manifests)]\nprefetch: {order: \(order), concurrency: 1}")
    let rows = urls.enumerated().map { "\($0.element),\(Self.classes[$0.offset % 5])\n" }
    job.folder.write("url,priority\n" + rows.joined(), to: "urls.csv")
    for (urls, name) in zip(byClass, Self.classes) {
      job.write(urls: urls, to: "\(name).txt")
      _ = try await Command("/bin/gzip", ["--keep", job.folder.file("\(name).txt")]).wait()
    }
    #expect(try await job.runJob().status == 0)
    #expect(origin.requests.map { origin.url($0.path) } == byClass.flatMap { order == "fifo" ? $0 : $0.reversed() })
  }

  @Test func `a pipe starts before its end`() async throws {
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
