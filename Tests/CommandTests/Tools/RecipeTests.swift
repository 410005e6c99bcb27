import Foundation
import TestOrigin
import TestSupport
import Testing

/// The recipes in scripts/recipes, as far as they can be checked without their platforms.
@Suite struct RecipeTests {
  private let origin = makeImageOrigin()

  private let folder = TemporaryDirectory()
  private let recipes = "\(Repository.path)/scripts/recipes"

  init() async throws {
    let result = try await Command("\(Repository.path)/Tests/Validators/recipes", [recipes, folder.path]).wait()
    #expect(result.status == 0 && result.outputText == "", "\(result.outputText)\(result.errorText)")
    for list in ["urls.txt", "urls/hero.txt"] { folder.write("https://img.example.com/a.jpg\n", to: list) }
  }

  private func files(ending suffix: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(suffix) }.sorted()
  }

  @Test func `the recipes' jobs are valid`() async throws {
    let jobs = try files(ending: ".yaml")
    #expect(jobs.count == 6)
    let result = try await Command(BuiltCommand.path, ["validate"] + jobs, workingDirectory: folder.path).wait()
    #expect(result.status == 0, "\(result.errorText)")
  }

  @Test func `the recipes' command lines are valid`() async throws {
    let lines = folder.text("commands").split(separator: "\n")
    #expect(lines.count == 11)
    for line in lines {
      // Remove options that `validate` doesn't have.
      let plain = line.replacing("/etc/prewarm/", with: "").replacing(#/\ --shard \S+|\ \|\|.*|\ &$/#, with: "")
      let words = JobFolder.words(String(plain))
      let arguments = words.dropFirst().filter { !$0.hasPrefix("\"$") }.map { $0.filter { $0 != "\"" } }
      let result = try await Command(BuiltCommand.path, ["validate"] + arguments, workingDirectory: folder.path).wait()
      #expect(["run", "check"].contains(words[0]) && result.status == 0, "\(line): \(result.errorText)")
    }
  }

  // MARK: Continuous integration

  /// Runs the steps of a push, in a checkout that keeps its files between pushes; returns whether the pipeline passes.
  private func push(to platform: String, branch: String = "main", _ checkout: JobFolder) async throws -> Bool {
    func status(_ script: String, _ variables: [String: String?]) async throws -> Int? {
      let text = String(decoding: try #require(folder.read("ci/\(script).sh"), "\(script)"), as: UTF8.self)
      let runner: [String: String?] = [
        "PATH": "\(folder.file("ci")):/usr/bin:/bin", "GITHUB_REF": "refs/heads/\(branch)", "RUNNER_TEMP": folder.path,
        "GITHUB_OUTPUT": folder.file("outputs"),
      ]
      let arguments = ["--noprofile", "--norc", "-eo", "pipefail", "-c", text]
      let result = try await checkout.start(arguments, of: "/bin/bash", environment: runner.merging(variables) { $1 }).wait()
      #expect([0, 2].contains(result.status), "\(script): \(result.errorText)")
      return result.status
    }
    guard platform.hasSuffix("-shards") else { return try await status(platform, [:]) == 0 }
    for shard in 1...5 {
      _ = try await status(platform, ["SHARD": "\(shard)", "CI_NODE_INDEX": "\(shard)", "CI_NODE_TOTAL": "5"])
    }
    return try await status(platform.replacing("shards", with: "merge"), [:]) == 0
  }

  /// A checkout with the recipes' job, over images of `origin`.
  private func checkout(_ origin: Origin) throws -> JobFolder {
    let checkout = JobFolder("")
    checkout.folder.write(try #require(folder.read("images.yaml")), to: "images.yaml")
    checkout.folder.write(imageURLs(origin, 0..<12).map { "\($0)\n" }.joined(), to: "urls/images.txt")
    if !FileManager.default.fileExists(atPath: folder.file("ci/prewarm")) {
      try FileManager.default.createSymbolicLink(atPath: folder.file("ci/prewarm"), withDestinationPath: BuiltCommand.path)
    }
    return checkout
  }

  @Test(arguments: ["github", "gitlab", "github-shards", "gitlab-shards", "pre-commit"])
  func `each push checks the current images`(platform: String) async throws {
    let checkout = try checkout(origin)
    let good = Behaviour.jpeg(3)
    #expect(try await push(to: platform, checkout))
    origin.set("/images/3.jpg", .body(Array(SampleImages.jpeg(3).prefix(200)), type: "image/jpeg"))
    #expect(try await !push(to: platform, checkout), "a broken image")
    origin.set("/images/3.jpg", good)
    #expect(try await push(to: platform, checkout), "a repaired image")
    origin.set("/images/3.jpg", .status(404))
    #expect(try await !push(to: platform, checkout), "a deleted image")
    origin.set("/images/3.jpg", good)
    #expect(try await push(to: platform, checkout), "an image that is back")
  }

  @Test func `a pull request fails only on what it broke, also after an outage on main`() async throws {
    let checkout = try checkout(origin)
    origin.set("/images/3.jpg", .status(404))
    #expect(try await !push(to: "github", checkout))
    #expect(try await push(to: "github", branch: "change", checkout))
    for number in 3...4 { origin.set("/images/\(number).jpg", .status(503)) }
    #expect(try await !push(to: "github", checkout))
    origin.set("/images/3.jpg", .status(404))
    origin.set("/images/4.jpg", .jpeg(4))
    #expect(try await push(to: "github", branch: "change", checkout))
    origin.set("/images/4.jpg", .status(404))
    #expect(try await !push(to: "github", branch: "change", checkout))
    origin.set("/images/4.jpg", .jpeg(4))
    #expect(try await push(to: "github", branch: "change", checkout))
  }

  @Test func `one issue is opened, renewed and closed`() async throws {
    // GitHub's command, with its issues as files of their numbers.
    folder.write(
      #"""
      #!/bin/bash
      echo "$1 $2" >> calls
      case "$1 $2" in
        "issue list") ls open ;;
        "issue create") shift 2; while [[ $1 != --body-file ]]; do shift; done; cp "$2" "open/$(ls open closed | grep -c '[0-9]')" ;;
        "issue edit") [[ $4 == --body-file ]] && cp "$5" "open/$3" ;;
        "issue close") mv "open/$3" "closed/$3" ;;
      esac
      """#,
      to: "ci/gh"
    )
    chmod(folder.file("ci/gh"), 0o755)
    let checkout = JobFolder("")
    for name in ["open/.keep", "closed/.keep"] { checkout.folder.write("", to: name) }
    checkout.folder.write("\(String(repeating: "ü", count: 50_000))\n", to: "issue.md")
    var seen: [String] = []
    for status in [0, 2, 2, 1, 0, 0, 2] {
      let runner: [String: String?] = [
        "PATH": "\(folder.file("ci")):/usr/bin:/bin", "STATUS": "\(status)", "RUN": "https://ci.test/\(status)",
      ]
      let script = ["--noprofile", "--norc", "-eo", "pipefail", "-c", folder.text("ci/github-issue.sh")]
      let result = try await checkout.start(script, of: "/bin/bash", environment: runner).wait()
      #expect(result.status == 0 && result.error.isEmpty, "\(result.errorText)")
      let calls = checkout.folder.text("calls").split(separator: "\n").filter { $0 != "issue list" && $0 != "label create" }
      seen.append(calls.joined(separator: ", "))
      checkout.folder.write("", to: "calls")
    }
    #expect(seen == ["", "issue create", "issue edit", "", "issue close", "", "issue create"])
    let text = checkout.folder.text("open/1")
    #expect(text.hasPrefix("https://ci.test/2\n\nü") && text.count < 65_536)
  }

  @Test func `shellcheck accepts the recipes`() async throws {
    let scripts = try files(ending: ".sh")
    #expect(scripts.count == 15)
    let result = try await Command("/usr/bin/shellcheck", scripts, workingDirectory: folder.path).wait()
    #expect(result.status == 0, "\(result.outputText)")
  }

  @Test func `promtool accepts the alerts`() async throws {
    let result = try await Command("/usr/bin/promtool", ["check", "rules", "\(recipes)/prometheus-rules.yml"]).wait()
    #expect(result.status == 0, "\(result.outputText)\(result.errorText)")
  }

  @Test(arguments: [(0, true), (1, false), (2, true), (143, false)])
  func `the next pod keeps the rows of a complete run as the baseline`(status: Int, isKept: Bool) async throws {
    folder.write("{\n  \"exit_status\": \(status),\n}\n", to: "state/nightly.json")
    // The second time is after a run that was killed before it wrote its JSON report.
    for rows in ["rows", "partial rows"] {
      folder.write(rows, to: "state/nightly.jsonl")
      let result = try await Command("/bin/sh", ["../kubernetes.sh"], workingDirectory: folder.file("state")).wait()
      #expect(result.status == 0 && result.error.isEmpty, "\(result.errorText)")
      #expect(folder.read("state/known.jsonl").map { String(decoding: $0, as: UTF8.self) } == (isKept ? "rows" : nil))
    }
  }

  @Test(arguments: ["kubernetes", "cron", "systemd"])
  func `the rows of an empty list don't become the baseline`(platform: String) async throws {
    folder.write("#!/bin/sh\nexit 2\n", to: "bin/prewarm")
    chmod(folder.file("bin/prewarm"), 0o755)
    let script = folder.text("\(platform).sh")
    folder.write("known", to: "state/known.jsonl")
    for (rows, known) in [("\n", "known"), ("rows\n", "rows\n")] {
      folder.write("{\n  \"exit_status\": 2,\n}\n", to: "state/nightly.json")
      folder.write(rows, to: "state/nightly.jsonl")
      let result = try await Command(
        "/bin/bash",
        ["-c", script.replacing("/var/lib/prewarm", with: folder.file("state"))],
        environment: [
          "PATH": "\(folder.file("bin")):/usr/bin:/bin", "STATE_DIRECTORY": folder.file("state"), "EXIT_STATUS": "2",
        ],
        workingDirectory: folder.file("state")
      ).wait()
      #expect(result.status == 0 && result.error.isEmpty, "\(result.errorText)")
      #expect(folder.read("state/known.jsonl").map { String(decoding: $0, as: UTF8.self) } == known)
    }
  }

  @Test func `the deploy recipe warms and exports originals and thumbnails, and stops at a bad critical image`() async throws {
    let checkout = JobFolder("")
    for name in ["deploy-critical.yaml", "deploy-originals.yaml", "deploy-thumbnails.yaml"] {
      checkout.folder.write(try #require(folder.read(name)), to: name)
    }
    checkout.folder.write(try #require(folder.read("deploy.sh")), to: "deploy")
    chmod(checkout.folder.file("deploy"), 0o755)
    try FileManager.default.createSymbolicLink(atPath: folder.file("prewarm"), withDestinationPath: BuiltCommand.path)
    func deploy(_ paths: [String]) async throws -> Int? {
      for (number, path) in paths.enumerated() where path != "/assets/bad.jpg" {
        origin.set(path, .jpeg(number))
      }
      checkout.write(urls: paths.map { origin.url($0) })
      let path = ["PATH": "\(folder.path):/usr/bin:/bin"]
      return try await checkout.start([], of: checkout.folder.file("deploy"), environment: path).wait().status
    }
    func files(_ name: String) -> [String] {
      let files = FileManager.default.subpaths(atPath: checkout.folder.file("site/\(name)")) ?? []
      return files.filter { $0.hasSuffix(".jpg") }.map { String($0.drop { $0 != "/" }) }.sorted()
    }
    #expect(try await deploy(["/assets/logo.jpg", "/a.jpg", "/b.jpg"]) == 0)
    #expect(files("originals") == ["/a.jpg", "/assets/logo.jpg", "/b.jpg"] && files("thumbnails") == files("originals"))
    #expect(try await deploy(["/assets/logo.jpg", "/a.jpg", "/assets/bad.jpg"]) == 2)
    #expect(files("originals").count == 3)
    #expect(try await deploy(["/assets/logo.jpg", "/a.jpg"]) == 0)
    #expect(files("originals") == ["/a.jpg", "/assets/logo.jpg"] && files("thumbnails") == files("originals"))
  }

  @Test func `systemd accepts the units`() async throws {
    for unit in ["prewarm.service", "prewarm.timer"] {
      let text = try String(contentsOfFile: "\(recipes)/\(unit)", encoding: .utf8)
      // `systemd-analyze` also checks that the executable exists.
      folder.write(text.replacing("/usr/bin/prewarm", with: BuiltCommand.path), to: unit)
    }
    // The manual is installed only with the package.
    let units = [folder.file("prewarm.service"), folder.file("prewarm.timer")]
    let result = try await Command("/usr/bin/systemd-analyze", ["verify", "--man=no"] + units).wait()
    #expect(result.status == 0 && result.error.isEmpty, "\(result.errorText)")
  }
}
