import Base
import Testing

@testable import Reports

@Suite struct FailureLogTests {
  @Test func `the message of a failure names the URL that redirects led to`() {
    let run = makeRun()
    let failure = ImageFailure(.notAnImage, message: "the body is HTML")
    let details = EntryResult.Details(failure: failure, finalURL: "https://img.example.com/login")
    run.record(EntryResult(.failed, details: details))
    run.record(EntryResult(.failed, failure: failure))
    let messages = run.finish(makeEnd()).failureGroups.flatMap(\.examples).map(\.failure?.message)
    #expect(Set(messages) == ["the body is HTML, after a redirect to https://img.example.com/login", "the body is HTML"])
  }

  @Test func `examples with long URLs stay within a byte limit, with at least one per group`() {
    let run = makeRun()
    let url = "https://img.example.com/" + String(repeating: "a", count: 64 << 10)
    for status in 400..<450 {
      run.record(.failed(ImageFailure(.httpStatus, status: status, message: "refused")), url: url, count: 12)
    }
    let short = ImageFailure(.dns, message: "there is no such host")
    run.record(.failed(short), count: 12)
    let groups = run.finish(makeEnd()).failureGroups
    #expect(groups.count == 51 && groups.allSatisfy { $0.failed == 12 && (1...10).contains($0.examples.count) })
    let bytes = groups.flatMap(\.examples).reduce(0) { $0 + $1.url.utf8.count }
    #expect(bytes > FailureLog.exampleBytes && bytes < FailureLog.exampleBytes + 51 * (65 << 10))
    #expect(groups.first { $0.kind == .dns }?.examples.count == 10)
  }
}
