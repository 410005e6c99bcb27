import TestOrigin
import TestSupport
import Testing

/// The exit status of the built command by each rule.
@Suite struct FailOnTableTests {
  @Test(arguments: FailOnRow.table.indices) func `each run exits as its rules say`(index: Int) async throws {
    try await run(FailOnRow.table[index])
  }

  @Test(arguments: FailOnRow.earlierReports.indices)
  func `each run is judged by its earlier failures`(index: Int) async throws { try await run(FailOnRow.earlierReports[index]) }

  private func run(_ row: FailOnRow) async throws {
    let origin = try FailOnRow.makeOrigin()
    let job = row.makeJob(origin)
    for _ in 0..<row.earlierRuns {
      let earlier = try await job.start(["run", "job.yaml", "--fail-on", "failures=never", "--set", "report=[]"]).wait()
      #expect(earlier.status == 0, "\(row.name): \(earlier.errorText)")
    }
    let result = try await row.run(job, origin, row.arguments)
    // Lines are wrapped at the terminal's width.
    let said = (result.outputText + result.errorText).split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    #expect(result.status == row.status, "\(row.name): \(said)")
    #expect(said.contains(row.says) || row.says.isEmpty, "\(row.name): \(said)")
  }

  @Test func `the table has thirty distinct cases`() {
    #expect(Set((FailOnRow.table + FailOnRow.earlierReports).map(\.name)).count >= 40)
    for status in [0, 1, 2, 3, 130] { #expect(FailOnRow.table.contains { $0.status == status }) }
  }
}
