import Base
import Testing

@Suite struct BackoffTests {
  @Test func `backoff doubles up to its maximum`() {
    let backoff = Backoff(initial: .milliseconds(500), maximum: .seconds(3))
    #expect(
      (0..<5).map { backoff.limit(beforeRetry: $0) } == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(3), .seconds(3)]
    )
    #expect(backoff.limit(beforeRetry: 1_000_000) == .seconds(3))
    #expect(backoff.limit(beforeRetry: -1) == .milliseconds(500))
    #expect(Backoff(initial: .zero, maximum: .seconds(3)).limit(beforeRetry: 9) == .zero)
  }
}
