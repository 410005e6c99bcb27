import TestSupport
import Testing

@testable import RedisClient

@Suite struct RedisErrorTests {
  @Test(
    "temporary errors are waited for",
    arguments: [
      "LOADING Redis is loading the dataset in memory", "READONLY You can't write against a read only replica.",
      "OOM command not allowed",
      "MASTERDOWN Link with MASTER is down", "TRYAGAIN Multiple keys request", "CLUSTERDOWN The cluster is down",
      "BUSY Redis is busy", "NOREPLICAS Not enough good replicas to write.",
      "MISCONF Redis is configured to save",
      "ERR Error running script (call to f_9a): @user_script:1: @user_script: 1: -OOM command not allowed",
      "ERR max number of clients reached",
    ]
  )
  func whatPassesIsWaitedFor(answer: String) throws {
    #expect(RedisError(answer: answer, from: try RedisAddress("redis://host")).kind == .unavailable)
  }

  @Test(
    "permanent errors are final",
    arguments: [
      "NOAUTH Authentication required.", "WRONGPASS invalid username-password pair", "NOPERM this user has no permissions",
      "WRONGTYPE Operation",
      "ERR unknown command 'XAUTOCLAIM'", "MOVED 3999 127.0.0.1:6381", "DENIED Redis is running in protected mode", "whatever",
    ]
  )
  func whatLastsIsFinal(answer: String) throws {
    #expect(RedisError(answer: answer, from: try RedisAddress("redis://host")).kind == .refused)
  }

  @Test("a replica is waited for if it was a primary before") func aReplicaIsWaitedForWhereItTookWritesBefore() throws {
    let address = try RedisAddress("redis://host")
    let replica = RedisError(answer: "READONLY You can't write against a read only replica.", from: address)
    #expect(replica.passes(hasWritten: true) && !replica.passes(hasWritten: false))
    #expect(RedisError(answer: "OOM command not allowed", from: address).passes(hasWritten: false))
    #expect(!RedisError(answer: "NOPERM this user", from: address).passes(hasWritten: true))
  }

  @Test(
    "a message has cause and advice, without script details",
    arguments: [
      "OOM command not allowed when used memory > 'maxmemory'. script: 62e6aac9, on @user_script:1.",
      "ERR Error running script (call to f_62e6aac9): @user_script:8: @user_script: 8: -MISCONF Errors writing to the AOF file: No space left on device",
      "READONLY You can't write against a read only replica. script: 62e6aac9, on @user_script:1.",
      "LOADING Redis is loading the dataset in memory",
      "ERR max number of clients reached",
      "NOPERM this user has no permissions to run the 'set' command",
      "NOPERM User john has no permissions to run the 'client|kill' command",
      "ERR The user executing the script can't run this command or subcommand script: 62e6aac9, on @user_script:1.",
      "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: 62e6aac9, on @user_script:1.",
      "ERR ACL failure in script: User john has no permissions to run the 'xadd' command script: 62e6aac9, on @user_script:1.",
      "ERR unknown command 'XAUTOCLAIM', with args beginning with: 'a' 'hush' ",
      "ERR unknown command `XAUTOCLAIM`, with args beginning with: `a`, `hush`, ",
      "ERR Unknown Redis command called from script script: 62e6aac9, on @user_script:1.",
      "ERR value is not an integer or out of range script: 62e6aac9, on @user_script:1.",
    ]
  )
  func aSentenceSaysWhatGoesOnAndWhatToDoWithoutWhatOnlyScriptsAreTold(answer: String) throws {
    let sentence = RedisError(answer: answer, from: try RedisAddress("redis://host")).description
    expectGolden(sentence, for: answer)
    #expect(!sentence.contains("user_script") && !sentence.contains("62e6aac9") && !sentence.contains("hush"), "\(sentence)")
  }

  @Test("an error within a script keeps its code") func anErrorWithinAScriptHasItsOwnCode() throws {
    let answer =
      "ERR Error running script (call to f_0123456789ABCDEF): @user_script:8: NOGROUP No such key 'a' or consumer group"
    #expect(RedisError(answer: answer, from: try RedisAddress("redis://host")).code == "NOGROUP")
  }

  @Test("a secret that is a common word changes no message")
  func ordinaryWords() throws {
    for word in ["password", "user", "memory", "command", "replica", "OOM", "a"] {
      for address in ["redis://:\(word)@host", "redis://\(word):secret@host"] {
        for answer in [
          "WRONGPASS invalid username-password pair or user is disabled.", "NOAUTH Authentication required.",
          "OOM command not allowed when used memory > 'maxmemory'.",
          "NOPERM this user has no permissions to run the 'set' command",
          "READONLY You can't write against a read only replica.",
        ] {
          let plain = RedisError(answer: answer, from: try RedisAddress("redis://host")).description
          let sentence = RedisError(answer: answer, from: try RedisAddress(address)).description
          #expect(sentence == plain.replacing("redis://host", with: "redis://***@host"))
        }
      }
    }
  }

  @Test("an unknown error is quoted only if it contains no secret")
  func unknownErrors() throws {
    let address = try RedisAddress("redis://alice:secret@host")
    for answer in ["ODD alice is not here", "ODD no secret here", "secret", "ERR odd, secret script: 1, on @user_script:1."] {
      let sentence = RedisError(answer: answer, from: address).description
      #expect(!sentence.contains("alice") && !sentence.contains("secret"), "\(sentence)")
      expectGolden(sentence, for: answer)
    }
    expectGolden(RedisError(answer: "ODD but harmless", from: address).description)
  }
}

/// Texts in which servers repeat arguments of the greeting.
@Suite struct EchoTests {
  private func refusal(_ server: RedisServer, _ login: String) throws -> RedisError {
    try #require(throws: RedisError.self) { try RedisConnection(try RedisAddress("redis://\(login)@\(server.host)")) }
  }

  @Test("arguments repeated by a server without AUTH aren't shown")
  func aServerThatDoesNotKnowAUTHRepeatsItsArgumentsAndTheyAreNotShown() async throws {
    let server = try await RedisServer(settings: ["--rename-command", "AUTH", "SIGNIN"])
    let raw = try RedisConnection(try RedisAddress(server.url))
    let echo = #expect(throws: RedisError.self) { try raw.command(["AUTH", "alice", "hush-hush"]) }
    #expect(echo?.description.contains("hush") == false)
    for login in [":hush-hush", "alice:hush-hush", "hush-hush:alice"] {
      let error = try refusal(server, login)
      #expect(error.kind == .refused && error.description.contains("AUTH"), "\(error)")
      #expect(!error.description.contains("hush") && !error.description.contains("alice"), "\(error)")
    }
    // The server does repeat the arguments.
    raw.append(["AUTH", "alice", "hush-hush"])
    guard case .error(let text) = try raw.reply() else {
      Issue.record("AUTH was renamed")
      return
    }
    #expect(text.contains("'alice' 'hush-hush'"), "\(text)")
  }

  @Test("a server without a password says so and shows none") func aServerWithoutPasswordSaysSoAndShowsNoneThatItWasGiven()
    async throws
  {
    let server = try await RedisServer()
    let error = try refusal(server, ":hush-hush")
    #expect(!error.description.contains("hush"), "\(error)")
    expectGolden(error.description)
  }

  @Test("a wrong password or user isn't shown") func aWrongPasswordOrUserIsNotShown() async throws {
    let server = try await RedisServer(password: "right")
    for login in [":hush-hush", "default:hush-hush", "alice:hush-hush"] {
      let error = try refusal(server, login)
      #expect(error.code == "WRONGPASS", "\(error)")
      expectGolden(error.description)
      #expect(!error.description.contains("hush") && !error.description.contains("alice"), "\(error)")
    }
  }

  @Test(
    "repeated text that may hold a secret isn't shown",
    arguments: [
      "-ERR no secret for me\r\n", "-secret\r\n", "-WRONGPASS secret\r\n", "-NOPERM may not run the 'secret' command\r\n",
      "-MISCONF Errors writing to the AOF file: secret\r\n",
      "-ERR unknown command 'secret', with args beginning with: 'secret'\r\n",
      "+OK\r\n-MAXCLIENTS secret\r\n", "+OK\r\n+OK\r\n$20\r\nredis_version:secret\r\n",
      "+OK\r\n+OK\r\n$5\r\nother\r\n-ERR secret\r\n",
      "+OK\r\n+OK\r\n$5\r\nother\r\n-ERR unknown command 'secret'\r\n", "secret\r\n",
    ]
  )
  func whatAServerRepeatsThatIsNoneIsNotShown(says: String) throws {
    let server = try FalseServer(says: Array(says.utf8), closes: true)
    let error = #expect(throws: RedisError.self) { try RedisConnection(server.address).command(["PING"]) }
    let sentence = try #require(error?.description)
    #expect(!sentence.contains("secret"), "\(sentence)")
  }
}

/// A server that has reached its limit of clients.
@Suite struct AdmissionTests {
  @Test("exceeding the client limit is reported") func whoIsOneClientTooManyIsToldSo() async throws {
    let server = try await RedisServer(settings: ["--maxclients", "1"], password: "right")
    let first = try RedisConnection(try RedisAddress("redis://:right@\(server.host)"))
    for login in ["", ":right@"] {
      let error = #expect(throws: RedisError.self) { try RedisConnection(try RedisAddress("redis://\(login)\(server.host)")) }
      #expect(error?.kind == .unavailable && error?.code == "MAXCLIENTS" && error?.description.contains("maxclients") == true)
    }
    #expect(try first.command(["PING"]) == .status("PONG"))
  }
}
