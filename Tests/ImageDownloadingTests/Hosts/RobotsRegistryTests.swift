import Base
import Testing

@testable import ImageDownloading

/// How long robots rules are kept, and who waits for them.
struct RobotsRegistryTests {
  private static let site = URLOrigin(Array("http://a.example/".utf8))!
  private let key = RobotsRegistry.Key(origin: site, server: site, token: "prewarm")
  private let now = MonotonicInstant(nanoseconds: 1_000)

  @Test func `rules are kept for a day, and a failed fetch for five minutes`() throws {
    var registry = RobotsRegistry()
    let failure = ImageFailure(.reset, isTransient: true, message: "no")
    for (policy, last) in [(RobotsRegistry.Policy.rules(RobotsRules()), 86_400), (.unreachable(failure), 300)] as [(_, Int)] {
      let first = registry.wait(1, for: key)
      let number = try #require(first)
      #expect(registry.conclude(number, policy, now: now) == [1])
      #expect(registry.policy(key, now: now.advanced(by: .seconds(last - 1))) != nil)
      #expect(registry.policy(key, now: now.advanced(by: .seconds(last))) == nil)
      #expect(registry.policy(RobotsRegistry.Key(origin: key.origin, server: key.server, token: "other"), now: now) == nil)
    }
  }

  @Test func `one download serves all waiters and is dropped once the last has left`() throws {
    var registry = RobotsRegistry()
    let first = registry.wait(3, for: key)
    let number = try #require(first)
    #expect(registry.wait(1, for: key) == nil)
    #expect(registry.wait(2, for: key) == nil)
    #expect(registry.leave(1, key) == nil)
    #expect(registry.conclude(number, nil, now: now) == [2, 3])
    #expect(registry.policy(key, now: now) == nil)
    let second = registry.wait(4, for: key)
    let next = try #require(second)
    #expect(next != number)
    #expect(registry.leave(4, key) == next)
  }

  @Test func `a user agent set as a header counts`() {
    var registry = RobotsRegistry()
    #expect(registry.token(for: PreparedOptions(.forTests(headers: [("user-agent", "Own/1")])), defaults: []) == "own")
    #expect(registry.token(for: PreparedOptions(.forTests()), defaults: [HeaderField("User-Agent", "default/2")]) == "default")
    #expect(registry.token(for: PreparedOptions(.forTests(headers: [("User-Agent", nil)])), defaults: []) == "")
  }
}
