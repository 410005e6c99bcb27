import Foundation
import TestSupport
import Testing

/// The recipes in scripts/recipes, as far as they can be judged without their platforms.
@Suite struct RecipeTests {
  private let folder = TemporaryDirectory()
  private let recipes = "\(Repository.path)/scripts/recipes"

  init() async throws {
    let result = try await Command.run("\(Repository.path)/Tests/Validators/recipes", [recipes, folder.path])
    #expect(result.status == 0 && result.outputText == "", "\(result.outputText)\(result.errorText)")
  }

  private func files(ending suffix: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(suffix) }.sorted()
  }

  @Test("the recipes' jobs are valid") func theJobsAreRight() async throws {
    let jobs = try files(ending: ".yaml")
    #expect(jobs == ["images.yaml", "kubernetes-shards.yaml", "kubernetes.yaml", "nightly.yaml"])
    let result = try await Command.run(BuiltCommand.path, ["validate"] + jobs, workingDirectory: folder.path)
    #expect(result.status == 0, "\(result.errorText)")
  }

  @Test("the recipes' command lines are valid") func theCommandLinesAreRight() async throws {
    let lines = String(decoding: folder.read("commands") ?? [], as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 7)
    for line in lines {
      // What only runs have is left out of what validates.
      let words: [String] = line.replacing("/etc/prewarm/", with: "").replacing("catalog", with: "kubernetes-shards")
        .replacing(#/\ --shard \S+|\ \|\|.*|\ &$/#, with: "").split(separator: " ").map { String($0) }
      let arguments: [String] = words.dropFirst().filter { !$0.hasPrefix("\"$") }.map { $0.filter { $0 != "\"" } }
      let result = try await Command.run(BuiltCommand.path, ["validate"] + arguments, workingDirectory: folder.path)
      #expect(words[0] == "run" && result.status == 0, "\(line): \(result.errorText)")
    }
  }

  /// The command of a shard's pod, with a stand-in for prewarm.
  private func startPod(_ standIn: String) throws -> Command {
    folder.write("#!/bin/bash\n\(standIn)\n", to: "bin/prewarm")
    chmod(folder.file("bin/prewarm"), 0o755)
    let command = String(decoding: folder.read("kubernetes-shards.sh") ?? [], as: UTF8.self)
    return try Command("/bin/sh", ["-c", command], environment: ["PATH": "\(folder.file("bin")):/usr/bin:/bin"])
  }

  @Test("a pod exits like its shard, except for bad images", arguments: [(0, 0), (1, 1), (2, 0), (3, 3), (143, 143)])
  func aPodEndsAsItsShardButForBadImages(shard: Int, pod: Int) async throws {
    #expect(try await startPod("exit \(shard)").wait().status == pod)
  }

  @Test("a terminated pod lets its shard end cleanly", arguments: [(143, 143), (2, 0), (130, 130)])
  func aPodThatIsEndedLetsItsShardEndInOrder(shard: Int, pod: Int) async throws {
    let command = try startPod(
      "trap 'kill $!; echo stopped; exit \(shard)' TERM; sleep infinity & echo started >&2; wait"
    )
    try await command.waitForError("started")
    command.send(SIGTERM)
    let ended = try await command.wait()
    #expect(ended.outputText == "stopped\n" && ended.status == pod)
  }

  @Test("shellcheck accepts the recipes") func shellcheckFindsNothing() async throws {
    let scripts = try files(ending: ".sh")
    #expect(scripts.count == 10)
    let result = try await Command.run("/usr/bin/shellcheck", scripts, workingDirectory: folder.path)
    #expect(result.status == 0, "\(result.outputText)")
  }

  @Test("systemd accepts the units") func systemdTakesTheUnits() async throws {
    for unit in ["prewarm.service", "prewarm.timer"] {
      let text = try String(contentsOfFile: "\(recipes)/\(unit)", encoding: .utf8)
      // Verified is, too, that what is started is there.
      folder.write(text.replacing("/usr/bin/prewarm", with: BuiltCommand.path), to: unit)
    }
    // Its manual is installed with the package alone.
    let result = try await Command.run(
      "/usr/bin/systemd-analyze",
      ["verify", "--man=no", folder.file("prewarm.service"), folder.file("prewarm.timer")]
    )
    #expect(result.status == 0 && result.error.isEmpty, "\(result.errorText)")
  }
}
