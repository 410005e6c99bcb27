import TestSupport
import Testing

@testable import RedisClient

@Suite struct RedisScriptTests {
  private static let add = RedisScript(name: "add", source: "return redis.call('INCRBY', KEYS[1], ARGV[1])")

  @Test("a script is reloaded after the server forgot it") func aScriptRunsAgainAfterTheServerForgotIt() async throws {
    let server = try await RedisServer()
    let connection = try RedisConnection(try RedisAddress(server.url))
    #expect(try connection.run(Self.add, keys: ["n"], [2]) == .integer(2))
    _ = try connection.command(["SCRIPT", "FLUSH"])
    #expect(try connection.run(Self.add, keys: ["n"], [3]) == .integer(5))
    _ = try connection.command(["SCRIPT", "FLUSH"])
    let calls = (1...3).map { ScriptCall(Self.add, keys: ["n"], [RedisArgument($0)]) }
    #expect(try connection.command(run: calls) == [.integer(6), .integer(8), .integer(11)])
    try await server.restart()
    let next = try RedisConnection(try RedisAddress(server.url))
    #expect(try next.run(Self.add, keys: ["n"], [1]) == .integer(12))
  }

  @Test("script errors are errors") func errorsOfScriptsAreErrors() async throws {
    let server = try await RedisServer()
    let connection = try RedisConnection(try RedisAddress(server.url))
    _ = try connection.command(["SET", "n", "x"])
    #expect(throws: RedisError.self) { try connection.run(Self.add, keys: ["n"], [2]) }
    let replies = try connection.command(run: [
      ScriptCall(Self.add, keys: ["n"], [1]), ScriptCall(Self.add, keys: ["m"], [1]),
    ])
    #expect(replies[1] == .integer(1))
    guard case .error = replies[0] else {
      Issue.record("x is no number")
      return
    }
  }

  @Test("waits grow up to a maximum and can be reset") func waitsGrowUpToAMaximumAndBeginAnew() {
    var backoff = ReconnectBackoff()
    var random = SeededRandom(seed: 5)
    for limit in [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000] {
      let wait = backoff.next(using: &random)
      #expect(wait >= .milliseconds(limit / 2) && wait <= .milliseconds(limit))
    }
    backoff.reset()
    #expect(backoff.next(using: &random) <= .milliseconds(50))
  }
}
