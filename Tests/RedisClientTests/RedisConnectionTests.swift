import Glibc
import Synchronization
import TestSupport
import Testing

@testable import RedisClient

@Suite struct RedisConnectionTests {
  @Test("any bytes survive a round trip") func bytesOfAnyKindComeBackAsTheyWere() async throws {
    let server = try await RedisServer()
    let connection = try RedisConnection(try RedisAddress(server.url))
    let value = (0...255).map { UInt8($0) } + Array("\r\n$5\r\n".utf8)
    #expect(try connection.command(["SET", RedisArgument(value), RedisArgument(value)]) == .status("OK"))
    #expect(try connection.command(["GET", RedisArgument(value)]) == .bytes(value))
    #expect(try connection.command(["GET", "none"]) == .null)
    #expect(try connection.command(["GET", ""]) == .null)
    #expect(try connection.command(["INCRBY", "n", 41]).integer == 41)
    #expect(try connection.command(["MGET", "n", "none"]).array == [.bytes(Array("41".utf8)), .null])
  }

  @Test("replies and errors arrive in the order of their commands") func repliesComeInTheOrderOfTheirCommandsAndErrorsAmongThem()
    async throws
  {
    let server = try await RedisServer()
    let connection = try RedisConnection(try RedisAddress(server.url))
    for number in 0..<1000 { connection.append(["INCRBY", "n", RedisArgument(number)]) }
    connection.append(["LPUSH", "n", "x"])
    connection.append(["ECHO", RedisArgument([UInt8](repeating: 65, count: 3 << 20))])
    var sum: Int64 = 0
    for number in 0..<1000 {
      sum += Int64(number)
      #expect(try connection.reply() == .integer(sum))
    }
    guard case .error(let text) = try connection.reply() else {
      Issue.record("a number is no list")
      return
    }
    #expect(text.hasPrefix("WRONGTYPE"))
    #expect(try connection.reply().bytes?.count == 3 << 20)
    #expect(connection.pendingReplies == 0)
  }

  @Test("the connection selects its database and sets its name") func theDatabaseIsSelectedAndTheConnectionNamed() async throws {
    let server = try await RedisServer()
    let connection = try RedisConnection(try RedisAddress(server.url + "/3"))
    _ = try connection.command(["SET", "a", "b"])
    #expect(try connection.command(["CLIENT", "GETNAME"]).text == "prewarm")
    #expect(try RedisConnection(try RedisAddress(server.url)).command(["EXISTS", "a"]) == .integer(0))
    let error = #expect(throws: RedisError.self) { try RedisConnection(try RedisAddress(server.url + "/99")) }
    #expect(error?.kind == .refused)
  }

  @Test("a server on a Unix socket is reached") func aServerOnASocketIsReached() async throws {
    let folder = TemporaryDirectory()
    let server = try await RedisServer(settings: ["--unixsocket", folder.file("s")])
    let connection = try RedisConnection(try RedisAddress("redis+unix://\(folder.path)/s?db=2"))
    #expect(try connection.command(["PING"]) == .status("PONG"))
    _ = server
  }

  @Test("a failed login names the reason without the secret") func whoIsNotLetInIsToldWhyWithoutTheSecret() async throws {
    let server = try await RedisServer(password: "right")
    for (login, code) in [("", "NOAUTH"), (":wrong-secret@", "WRONGPASS"), ("stranger:wrong-secret@", "WRONGPASS")] {
      let error = #expect(throws: RedisError.self) { try RedisConnection(try RedisAddress("redis://\(login)\(server.host)")) }
      #expect(error?.kind == .refused && error?.code == code)
      #expect(error?.description.contains("wrong-secret") == false && error?.description.contains("stranger") == false)
      #expect(error?.description.contains(server.host) == true)
    }
    let address = try RedisAddress("redis://\(server.host)", environment: ["REDISCLI_AUTH": "right"])
    #expect(try RedisConnection(address).command(["PING"]) == .status("PONG"))
  }

  @Test("an ACL user logs in with limited permissions") func aUserOfTheACLSignsInAndLacksWhatItLacks() async throws {
    let server = try await RedisServer(users: ["user default off", "user me on >secret ~a* +get +info +client +auth"])
    let connection = try RedisConnection(try RedisAddress("redis://me:secret@\(server.host)"))
    #expect(try connection.command(["GET", "a"]) == .null)
    let error = #expect(throws: RedisError.self) { try connection.command(["SET", "a", "b"]) }
    #expect(error?.kind == .refused && error?.code == "NOPERM" && error?.description.contains("ACL") == true)
  }

  @Test("an unreachable server is unavailable") func aServerThatIsAwayIsUnavailable() async throws {
    let server = try await RedisServer()
    let connection = try RedisConnection(try RedisAddress(server.url))
    try await server.stop()
    #expect(throws: RedisError.self) { try connection.command(["PING"]) }
    let error = #expect(throws: RedisError.self) { try RedisConnection(try RedisAddress(server.url)) }
    #expect(error?.kind == .unavailable && error?.code == nil)
    #expect(error?.description.contains(server.host) == true)
  }

  @Test("a hanging server is unavailable") func aServerThatStandsStillIsUnavailable() async throws {
    let server = try await RedisServer()
    let timeouts = RedisConnection.Timeouts(connect: .seconds(60), answer: .milliseconds(20))
    let connection = try RedisConnection(try RedisAddress(server.url))
    _ = try connection.command(["PING"])
    server.pause()
    // The system accepts connections for the stopped server, which doesn't respond.
    let error = #expect(throws: RedisError.self) { try RedisConnection(try RedisAddress(server.url), timeouts: timeouts) }
    #expect(error?.kind == .unavailable)
    server.resume()
    #expect(try connection.command(["PING"]) == .status("PONG"))
  }

  @Test("writing to a closed connection raises no signal") func writingToAClosedConnectionRaisesNoSignal() async throws {
    let server = try await RedisServer()
    let connection = try RedisConnection(try RedisAddress(server.url))
    try await server.kill()
    #expect(throws: RedisError.self) { try connection.command(["PING"]) }
    signal(SIGPIPE) { _ in RedisConnectionTests.signals.wrappingAdd(1, ordering: .relaxed) }
    // The first byte to a closed socket causes a reset, after which writing raises SIGPIPE.
    for _ in 0..<3 {
      connection.append(["PING"])
      #expect(throws: RedisError.self) { try connection.flush() }
    }
    #expect(Self.signals.load(ordering: .relaxed) == 0)
    signal(SIGPIPE, SIG_IGN)
  }

  private static let signals = Atomic(0)
}

/// Servers of another protocol or an old version.
@Suite struct FalseServerTests {
  @Test(
    "an invalid or oversized reply is rejected",
    arguments: [
      "*2147483647\r\n", "*1048577\r\n", "$-7\r\n", "?\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n",
      String(repeating: "*1\r\n", count: 100) + ":1\r\n", ":12x\r\n", "*-9\r\n",
    ]
  )
  func whatIsNoReplyOrTooMuchIsRefused(reply: String) throws {
    let server = try FalseServer(says: FalseServer.greeting(then: reply), closes: true)
    let connection = try RedisConnection(server.address)
    let error = #expect(throws: RedisError.self) { try connection.command(["PING"]) }
    #expect(error?.kind == .refused && error?.description.contains("secret") == false)
  }

  @Test("an endless reply is cut off") func aReplyWithoutEndIsCutOff() throws {
    let endless = FalseServer.greeting(then: "$4000000000\r\n") + [UInt8](repeating: 65, count: 65 << 20)
    let connection = try RedisConnection(try FalseServer(says: endless).address)
    let error = #expect(throws: RedisError.self) { try connection.command(["GET", "a"]) }
    #expect(error?.kind == .refused)
    expectGolden(error?.description)
  }

  @Test("an old server is rejected with the required version", arguments: ["6.0.16", "2.8", "5"])
  func anOldServerIsRefusedWithTheVersionThatIsNeeded(version: String) throws {
    let server = try FalseServer(says: FalseServer.greeting(version: version))
    let error = #expect(throws: RedisError.self) { try RedisConnection(server.address) }
    #expect(error?.kind == .refused && error?.description.contains("6.2") == true && error?.description.contains(version) == true)
  }

  @Test("a server of the required version is accepted", arguments: ["6.2", "6.2.7", "7.0.15", "10.1"])
  func aServerOfTheNeededVersionIsGoodEnough(version: String) throws {
    _ = try RedisConnection(try FalseServer(says: FalseServer.greeting(version: version)).address)
  }
}
