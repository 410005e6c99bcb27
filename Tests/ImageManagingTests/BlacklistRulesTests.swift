import Base
import Testing

@testable import ImageManaging

@Suite struct BlacklistRulesTests {
  private let rules = BlacklistRules()

  @Test(arguments: FailureKind.allCases)
  func `failures caused by the job, the network or prewarm itself are never remembered`(kind: FailureKind) {
    let lasting: Set<FailureKind> = [.notAnImage, .empty, .undecodable]
    #expect(rules.remembers(ImageFailure(kind, message: "")) == lasting.contains(kind))
  }

  @Test(arguments: 100...599) func `only permanent statuses are remembered`(status: Int) {
    let lasting: Set = [400, 404, 405, 406, 410, 411, 412, 413, 414, 415, 417, 422, 451]
    #expect(rules.remembers(ImageFailure(.httpStatus, status: status, message: "")) == lasting.contains(status))
  }

  @Test func `a configured status is remembered, transient or not`() {
    let rules = BlacklistRules(statuses: [400...599])
    #expect(rules.remembers(ImageFailure(.httpStatus, status: 503, isTransient: true, message: "")))
    #expect(!rules.remembers(ImageFailure(.httpStatus, status: 304, message: "")))
  }

  @Test func `a disabled blacklist remembers nothing`() {
    let rules = BlacklistRules(isEnabled: false)
    #expect(!rules.remembers(ImageFailure(.httpStatus, status: 404, message: "")))
    #expect(!rules.remembers(ImageFailure(.empty, message: "")))
  }
}
