import TestSupport
import Testing

@testable import Jobs

@Suite struct OpenFileBudgetTests {
  @Test(arguments: [(20, 1), (64, 2), (256, 50), (1024, 242), (1 << 20, 262_130)])
  func `transfers fit into the limit of open files`(limit: Int, transfers: Int) {
    let budget = OpenFileBudget(limit: limit)
    #expect(budget.transfers == transfers)
    #expect(budget.warning(concurrency: transfers) == nil)
    expectGolden(budget.warning(concurrency: transfers + 1), for: "\(limit) files")
  }
}
