import Foundation
import TestOrigin
import TestSupport
import Testing

/// The release of scripts/release, on loopback, and its ways to users: scripts/install.sh and the action.
@Suite struct InstallTests {
  private let origin: Origin
  /// The scripts in a repository of their own, with a changelog that has all versions.
  private let folder = TemporaryDirectory()

  init() async throws {
    origin = try Origin()
    let versions = ["0.4.0", "0.3.0", "0.2.0", "0.1.0"].map { "## [\($0)] - 2026-01-01\n\n- Changes of \($0).\n\n" }
    folder.write("## [Unreleased]\n\n- More.\n\n\(versions.joined())[0.4.0]: https://www.example.com\n", to: "CHANGELOG.md")
    let copied = try await shell("mkdir scripts && cp -r '\(Repository.path)'/scripts/{release,install.sh,recipes} scripts")
    try #require(copied.status == 0, "\(copied.errorText)")
  }

  /// Runs a script in the folder, with the variables of a new user.
  private func shell(_ script: String, _ variables: [String: String?] = [:]) async throws -> Command.Result {
    var environment: [String: String?] = ["PATH": "/usr/bin:/bin", "HOME": folder.file("home"), "PREWARM_DOWNLOAD": origin.base]
    environment["GITHUB_REPOSITORY"] = "acme/prewarm"
    for name in ["PREWARM_HOME", "PREWARM_VERSION", "XDG_CACHE_HOME", "http_proxy"] { environment[name] = .some(nil) }
    environment.merge(variables) { $1 }
    let options = ["--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return try await Command("/bin/bash", options, environment: environment, workingDirectory: folder.path).wait()
  }

  /// Makes packages, with the names of scripts/package and in folders per machine; returns the result of scripts/release.
  ///
  /// - Parameters:
  ///   - command: for this machine; by default a script that prints the version.
  ///   - fault: a script that spoils the packages of the last machine.
  private func release(_ version: String, command: String? = nil, after fault: String = "") async throws -> Command.Result {
    let script = """
      rm -rf trees && tree=trees/prewarm-$version
      mkdir -p $tree/{bin,lib,share/man/man1,share/bash-completion/completions,share/zsh/site-functions,share/fish/vendor_completions.d}
      touch $tree/share/man/man1/prewarm{,-$version}.1.gz $tree/share/bash-completion/completions/prewarm
      touch $tree/share/zsh/site-functions/_prewarm $tree/share/fish/vendor_completions.d/prewarm.fish
      for machine in x86_64 aarch64; do
        packages=releases/$version/$machine
        mkdir -p $packages
        printf '#!/bin/sh\\necho %s\\n' $version >$tree/bin/prewarm
        [[ ! $command || $machine != $(uname -m) ]] || cp "$command" $tree/bin/prewarm
        chmod 755 $tree/bin/prewarm
        tar -C trees -c prewarm-$version | gzip -1 >$packages/prewarm-$version-$machine-linux.tar.gz
        echo '{}' >$packages/prewarm-$version.spdx.json
        (cd $packages && sha256sum prewarm* >SHA256SUMS)
      done
      \(fault)
      scripts/release $version releases/$version
      """
    return try await shell(script, ["version": version, "command": command ?? ""])
  }

  /// Makes a release, the latest, and serves it; returns the path of this machine's tar.
  @discardableResult
  private func publish(_ version: String, command: String? = nil) async throws -> String {
    let result = try await release(version, command: command)
    try #require(result.status == 0, "\(result.errorText)")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.file("releases/\(version)"))
    for file in files {
      let behaviour = Behaviour.file(folder.file("releases/\(version)/\(file)"), type: "application/octet-stream")
      for path in ["download/v\(version)", "latest/download"] { origin.set("/\(path)/\(file)", behaviour) }
    }
    let machine = try await shell("uname -m").outputText.dropLast()
    return "/download/v\(version)/prewarm-\(version)-\(machine)-linux.tar.gz"
  }

  /// The version that an installed command prints, and whatever else is in the folder of the installations.
  private func installed() async throws -> String {
    try await shell("home/.local/bin/prewarm --version; ls -A home/.local/lib/prewarm").outputText.replacing("\n", with: " ")
  }

  // MARK: scripts/release

  @Test func `a release has files for both machines, their checksums, and notes from the changelog`() async throws {
    let result = try await release("0.2.0")
    #expect(result.status == 0 && result.outputText == "\n- Changes of 0.2.0.\n", "\(result.outputText)\(result.errorText)")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.file("releases/0.2.0")).sorted()
    let packages = ["aarch64", "x86_64"].flatMap { ["prewarm-0.2.0-\($0)-linux.tar.gz", "prewarm-0.2.0-\($0).spdx.json"] }
    #expect(files == ["SHA256SUMS", "install.sh"] + packages + ["prewarm.nix", "prewarm.rb"])
    let check = try await shell("cd releases/0.2.0 && sha256sum --check --quiet SHA256SUMS && wc -l <SHA256SUMS")
    #expect(check.outputText == "7\n", "\(check.errorText)")
    for file in ["install.sh", "prewarm.rb", "prewarm.nix"] {
      let text = folder.text("releases/0.2.0/\(file)")
      #expect(!text.contains("OWNER") && text.contains("acme/prewarm") && !text.contains(#/@\w+@/#), "\(file)")
    }
    let sums = folder.text("releases/0.2.0/SHA256SUMS").matches(of: #/(\w{64})  .*gz\n/#).map { String($0.1) }
    #expect(sums.count == 2 && sums.allSatisfy { folder.text("releases/0.2.0/prewarm.rb").contains("sha256 \"\($0)\"") })
  }

  @Test(arguments: ["", "echo >>$packages/prewarm-0.2.0.spdx.json", "rm -r $packages", "sed -i '/0.2.0/d' CHANGELOG.md"])
  func `a release with a damaged package, without a machine or without notes fails`(fault: String) async throws {
    let result = try await release("0.2.0", after: fault)
    #expect(result.status == (fault.isEmpty ? 0 : 1))
    if !fault.isEmpty { expectGolden(result.errorText, for: fault) }
  }

  // MARK: scripts/install.sh

  @Test(arguments: ["curl -fsSL", "wget -qO-"])
  func `one line installs the command with its manual and completions, and --uninstall removes them`(program: String) async throws
  {
    try await publish("0.1.0", command: BuiltCommand.path)
    // All that it needs; if curl is missing, it uses wget.
    let programs = "sh uname getconf mkdir mktemp readlink cat ln mv rm find tar gzip sha256sum".split(separator: " ")
    for name in programs + program.split(separator: " ").prefix(1) {
      _ = try await shell("mkdir -p tools && ln -s \"$(command -v \(name))\" tools/\(name)")
    }
    let line = "\(program) $PREWARM_DOWNLOAD/latest/download/install.sh | sh"
    let installation = try await shell(line, ["PATH": folder.file("tools")])
    #expect(installation.status == 0 && installation.error.isEmpty, "\(installation.errorText)")
    expectGolden(installation.outputText)
    #expect(try await installed() == "0.1.0 0.1.0 current ")
    origin.set("/a.jpg", .jpeg())
    #expect(try await shell("home/.local/bin/prewarm check --quiet \(origin.url("/a.jpg"))").status == 0)
    let files = ["man/man1/prewarm.1.gz", "zsh/site-functions/_prewarm", "fish/vendor_completions.d/prewarm.fish"]
    for file in files + ["bash-completion/completions/prewarm"] {
      #expect(folder.read("home/.local/share/\(file)") != nil, "\(file)")
    }
    folder.write("mine", to: "home/.local/share/man/man1/prewarm-mine.1")
    let removal = try await shell("scripts/install.sh --uninstall")
    expectGolden(removal.outputText)
    #expect(try await shell("find home ! -type d").outputText == "home/.local/share/man/man1/prewarm-mine.1\n")
    folder.write("mine", to: "home/.local/bin/prewarm")
    expectGolden(try await shell("scripts/install.sh").errorText)
  }

  @Test func `an update keeps the previous version only, and a repeated run downloads nothing`() async throws {
    for version in ["0.2.0", "0.3.0", "0.4.0"] {
      let tar = try await publish(version)
      for _ in 0..<2 {
        let result = try await shell("scripts/install.sh", ["PATH": "\(folder.file("home/.local/bin")):/usr/bin:/bin"])
        #expect(result.status == 0 && result.outputText.split(separator: "\n").count == 1, "\(result.errorText)")
      }
      #expect(origin.count(of: tar) == 1)
    }
    #expect(try await installed() == "0.4.0 0.4.0 current ")
    #expect(try await shell("ls home/.local/share/man/man1").outputText == "prewarm-0.4.0.1.gz\nprewarm.1.gz\n")
    #expect(try await shell("scripts/install.sh", ["PREWARM_VERSION": "v0.3.0"]).status == 0)
    #expect(try await installed() == "0.3.0 0.3.0 0.4.0 current ")
  }

  @Test func `a download that is damaged, cut or missing, or a command that doesn't start, keeps the installed version`()
    async throws
  {
    try await publish("0.2.0")
    #expect(try await shell("scripts/install.sh").status == 0)
    let tar = try await publish("0.3.0")
    let bytes = try #require(folder.read("releases/0.3.0\(tar.dropFirst("/download/v0.3.0".count))"))
    for (label, behaviour) in [
      ("damaged", Behaviour.body(bytes.dropLast() + [1])), ("cut", .cut(afterBytes: 100, declared: bytes.count, of: bytes)),
      ("missing", .status(404)),
    ] {
      origin.set(tar, behaviour)
      let result = try await shell("scripts/install.sh")
      #expect(result.status == 1 && result.output.isEmpty)
      expectGolden(result.errorText.split(separator: "\n").last.map(String.init), for: label)
      #expect(try await installed() == "0.2.0 0.2.0 current ", "\(label)")
    }
    try await publish("0.4.0", command: folder.write("#!/bin/sh\necho 'no such library' >&2\nexit 127\n", to: "broken"))
    expectGolden(try await shell("scripts/install.sh").errorText, for: "doesn't start")
    let unknown = try await shell("scripts/install.sh", ["PREWARM_VERSION": "0.5.0"])
    expectGolden(unknown.errorText.split(separator: "\n").last.map(String.init), for: "unknown")
    #expect(try await installed() == "0.2.0 0.2.0 current ")
  }

  @Test(arguments: ["Darwin arm64", "Linux riscv64", "Linux x86_64 glibc 2.31", "Linux x86_64 musl"])
  func `an unsupported machine gets a sentence, and nothing is downloaded`(machine: String) async throws {
    let words = machine.split(separator: " ")
    let library = words.count == 4 ? "echo \(words[2...].joined(separator: " "))" : "echo undefined"
    // Written by the shell: a file that this process has written can be busy, while another test starts a process.
    let fake = """
      mkdir fake && printf '#!/bin/sh\\n%s\\n' 'case $1 in -s) echo \(words[0]) ;; *) echo \(words[1]) ;; esac' >fake/uname
      printf '#!/bin/sh\\n%s\\n' '\(library)' >fake/getconf && chmod +x fake/* && PATH=$PWD/fake:$PATH scripts/install.sh
      """
    let result = try await shell(fake)
    #expect(result.status == 1 && origin.requests.isEmpty && folder.read("home") == nil)
    expectGolden(result.errorText, for: machine)
  }

  @Test func `a script that arrives only in part does nothing`() async throws {
    try await publish("0.2.0")
    let lines = folder.text("scripts/install.sh").split(separator: "\n", omittingEmptySubsequences: false)
    for count in stride(from: 10, to: lines.count - 2, by: 9) {
      folder.write(lines[..<count].joined(separator: "\n") + "\n" + lines[count].prefix(10), to: "part")
      _ = try await shell("sh part")
      #expect(!FileManager.default.fileExists(atPath: folder.file("home")) && origin.requests.isEmpty, "\(count) lines")
    }
  }

  // MARK: The action

  /// Runs a step of the action as a runner does; returns its result and outputs, and writes the summary to a file.
  private func step(_ name: String, _ inputs: [String: String] = [:]) async throws -> (Command.Result, outputs: String) {
    for name in ["outputs", "summary"] { folder.write("", to: name) }
    let inputs = ["SOURCES": "", "ARGS": "", "FAIL_ON": "", "BASELINE": "", "PREWARM_VERSION": "0.1.0"].merging(inputs) { $1 }
    let files = ["GITHUB_OUTPUT": "outputs", "GITHUB_STEP_SUMMARY": "summary", "GITHUB_PATH": "path", "RUNNER_TEMP": "."]
    var variables = inputs.merging(files.mapValues { folder.file($0) }) { $1 }.mapValues { Optional($0) }
    variables["GITHUB_ACTION_PATH"] = folder.file("scripts/recipes/action")
    variables["GITHUB_WORKSPACE"] = folder.path
    variables["PATH"] = folder.text("path").replacing("\n", with: ":") + "/usr/bin:/bin"
    return (try await shell(folder.text("ci/action-\(name).sh"), variables), folder.text("outputs"))
  }

  @Test func `the action installs prewarm, checks images, and sets outputs; its inputs are never run`() async throws {
    try await publish("0.1.0", command: BuiltCommand.path)
    let recipes = "\(Repository.path)/scripts/recipes"
    #expect(try await Command("\(Repository.path)/Tests/Validators/recipes", [recipes, folder.path]).wait().status == 0)
    let (installation, _) = try await step("install")
    #expect(installation.status == 0, "\(installation.errorText)")
    #expect(folder.text("path") == "\(folder.file("home/.cache/prewarm-action/bin"))\n")
    for path in ["/a.jpg", "/b.jpg"] { origin.set(path, .jpeg()) }
    folder.write("\(origin.url("/a.jpg"))\n\(origin.url("/gone.jpg"))\n", to: "urls.txt")
    folder.write("\(origin.url("/b.jpg"))\n", to: "$(touch run) urls.txt")

    let sources = ["SOURCES": "urls.txt\n'$(touch run) urls.txt'", "ARGS": "--retries 0 --report 'jsonl=rows `touch run`.jsonl'"]
    let (bad, outputs) = try await step("check", sources)
    #expect(bad.status == 2 && folder.text("summary").contains("**FAILED: 1 of 3"), "\(bad.errorText)")
    #expect(bad.outputText.contains("::error file=urls.txt,line=2,title=http-status 404::"))
    let page = try #require(outputs.firstMatch(of: #/^exit-status=2\nbad=1\nreport=(.*\.html)\n$/#)?.1, "\(outputs)")
    #expect(readFile(String(page))?.isEmpty == false)
    #expect(folder.read("rows `touch run`.jsonl") != nil && folder.read("run") == nil)

    #expect(try await step("check", sources.merging(["FAIL_ON": "failures=40%\nempty=true"]) { $1 }).0.status == 0)
    let baseline = ["ARGS": "", "BASELINE": "rows `touch run`.jsonl", "FAIL_ON": "known=100%"]
    let known = try await step("check", sources.merging(baseline) { $1 })
    #expect(known.0.status == 0 && known.outputs.hasPrefix("exit-status=0\nbad=0\n"), "\(known.0.errorText)\(known.outputs)")
    let missing = try await step("check", ["SOURCES": "--version"])
    #expect(missing.0.status == 3 && missing.outputs == "exit-status=3\n", "\(missing.outputs)")
    let quote = try await step("check", ["SOURCES": "it's.txt"])
    #expect(quote.0.status == 3)
    expectGolden(quote.0.outputText)
  }

  @Test func `the README, the recipes and the action name this version`() async throws {
    let version = try await Command(BuiltCommand.path, ["--version"]).wait().outputText.dropLast()
    let search = "grep -rhoE '(@v|/v|_|: |prewarm-)[0-9]+[.][0-9]+[.][0-9]+' README.md scripts/recipes"
    let named = try await shell("cd '\(Repository.path)' && \(search)")
    let versions = named.outputText.split(separator: "\n")
    #expect(versions.count > 8 && versions.allSatisfy { $0.hasSuffix(version) }, "\(named.outputText)")
  }
}
