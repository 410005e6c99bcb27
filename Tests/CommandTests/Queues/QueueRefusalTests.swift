import Foundation
import RedisClient
import TestOrigin
import TestSupport
import Testing

/// Messages for people if Redis refuses, and the ending of the commands.
@Suite struct QueueRefusalTests {
  private let origin: Origin

  init() throws { origin = try makeImageOrigin() }

  /// Expects one sentence per wait, without internals of scripts.
  private func expectPlain(_ text: String, sentences: Int) {
    let messages = text.split(separator: "\n").filter { $0.hasPrefix("prewarm: ") }
    #expect(messages.count == sentences, "\(text)")
    #expect(!text.contains("script") && text.firstMatch(of: /[0-9a-f]{40}/) == nil, "\(text)")
  }

  @Test("at Redis's memory limit both commands wait and say so, even with --quiet")
  func atTheMemoryLimitBothWaitAndSaySoEvenWhereTheyAreQuiet() async throws {
    let scene = try await QueueScene(urls: (1...20).map { origin.url("/images/\($0).jpg") })
    let redis = try scene.connect()
    _ = try redis.command(["CONFIG", "SET", "maxmemory-policy", "noeviction"])
    _ = try redis.command(["CONFIG", "SET", "maxmemory", "1"])
    let filling = try scene.enqueue("-q")
    try await filling.waitForError("(OOM)")
    _ = try redis.command(["CONFIG", "SET", "maxmemory", "0"])
    let filled = try await filling.wait()
    #expect(filled.status == 0, "\(filled.errorText)")
    expectGolden(filled.errorText)
    expectPlain(filled.errorText, sentences: 1)

    let gate = origin.holdAll()
    let working = try scene.worker(0, "-q")
    try await gate.waitForWaiting(1)
    _ = try redis.command(["CONFIG", "SET", "maxmemory", "1"])
    gate.open()
    try await working.waitForError("(OOM)")
    _ = try redis.command(["CONFIG", "SET", "maxmemory", "0"])
    let worked = try await working.wait()
    #expect(worked.status == 0, "\(worked.errorText)")
    expectGolden(worked.errorText)
    expectPlain(worked.errorText, sentences: 1)
    #expect(try await scene.report().totals["downloaded"] == 20)
  }

  @Test("a replica ends both commands at once") func aReplicaEndsBothAtOnce() async throws {
    let scene = try await QueueScene(urls: [origin.url("/images/1.jpg")])
    #expect(try await scene.enqueue().wait().status == 0)
    _ = try scene.connect().command(["REPLICAOF", "127.0.0.1", "1"])
    for command in [try scene.enqueue("--name", "other"), try scene.enqueue("--replace"), try scene.worker()] {
      let ended = try await command.wait()
      #expect(ended.status == 1, "\(ended.errorText)")
      expectGolden(ended.errorText)
      expectPlain(ended.errorText, sentences: 1)
    }
  }

  @Test("a missing permission ends both commands at once") func aPermissionThatLacksEndsBothAtOnce() async throws {
    let scene = try await QueueScene(urls: [origin.url("/images/1.jpg")])
    #expect(try await scene.enqueue().wait().status == 0)
    let redis = try scene.connect()
    _ = try redis.command(["ACL", "SETUSER", "weak", "on", ">secret", "~*", "+@all", "-xadd", "-xreadgroup"])
    let address = scene.redis.url.replacing("redis://", with: "redis://weak:secret@")
    for command in [["enqueue", "job.yaml", "--name", "other"], ["worker"]] {
      let ended = try await scene.job.start(command + ["--queue", address]).wait()
      #expect(ended.status == 1, "\(ended.errorText)")
      expectGolden(ended.errorText)
      #expect(!ended.errorText.contains("secret") && !ended.errorText.contains("weak"), "\(ended.errorText)")
      expectPlain(ended.errorText, sentences: 1)
    }
  }

  @Test("a password that is a common word doesn't mask messages") func aPasswordThatIsAWordMasksNoSentence() async throws {
    let redis = try await RedisServer(password: "right")
    let job = JobFolder(urls: [origin.url("/images/1.jpg")])
    let address = redis.url.replacing("redis://", with: "redis://:password@")
    let ended = try await job.start(["enqueue", "job.yaml", "--queue", address]).wait()
    #expect(ended.status == 1, "\(ended.errorText)")
    expectGolden(ended.errorText)
  }
}
