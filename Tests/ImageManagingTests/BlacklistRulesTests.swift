import ImagePrimitives
import Testing

@testable import ImageManaging

@Suite struct BlacklistRulesTests {
  private let rules = BlacklistRules()

  @Test("failures caused by the job, the network or prewarm itself are never remembered", arguments: FailureKind.allCases)
  func onlyLastingFailuresAreRemembered(kind: FailureKind) {
    let lasting: Set<FailureKind> = [.notAnImage, .empty, .undecodable]
    #expect(rules.remembers(ImageFailure(kind, message: "")) == lasting.contains(kind))
  }

  @Test("only permanent statuses are remembered", arguments: 100...599)
  func onlyLastingStatusesAreRemembered(status: Int) {
    let lasting: Set = [400, 404, 405, 406, 410, 411, 412, 413, 414, 415, 417, 422, 451]
    #expect(rules.remembers(ImageFailure(.httpStatus, status: status, message: "")) == lasting.contains(status))
  }

  @Test("a configured status is remembered, transient or not") func namedStatusesAreRemembered() {
    let rules = BlacklistRules(statuses: [400...599])
    #expect(rules.remembers(ImageFailure(.httpStatus, status: 503, isTransient: true, message: "")))
    #expect(!rules.remembers(ImageFailure(.httpStatus, status: 304, message: "")))
  }

  @Test("a disabled blacklist remembers nothing") func aBlacklistThatIsOffRemembersNothing() {
    let rules = BlacklistRules(isEnabled: false)
    #expect(!rules.remembers(ImageFailure(.httpStatus, status: 404, message: "")))
    #expect(!rules.remembers(ImageFailure(.empty, message: "")))
  }
}
