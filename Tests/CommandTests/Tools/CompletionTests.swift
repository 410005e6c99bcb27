import Foundation
import TestSupport
import Testing

/// The completions as loaded and run by the shells.
@Suite struct CompletionTests {
  private let folder = TemporaryDirectory()

  /// A line typed up to the cursor, a word, and whether it is offered there; those without effect aren't.
  static let offers: [(line: String, word: String, isOffered: Bool)] = [
    ("prewarm ", "validate", true), ("prewarm cac", "cache", true), ("prewarm in", "init", true),
    ("prewarm check --format js", "jsonl", true), ("prewarm cache ", "export", true), ("prewarm run --ord", "--order", true),
    ("prewarm run --order ", "lifo", true), ("prewarm run --decode f", "full", true),
    ("prewarm run --cache-mode ", "refresh", true), ("prewarm run --freshness ", "http", true),
    ("prewarm run --color ", "never", true), ("prewarm run --report ju", "junit=-", true),
    ("prewarm run --fail-on unf", "unfinished=never", true), ("prewarm run --set prefetch.conc", "prefetch.concurrency=32", true),
    ("prewarm run --set cache.mode", "cache.mode=only", true), ("prewarm run --set fail-on.e", "fail-on.empty=true", true),
    ("prewarm validate jobs/", "jobs/a.yaml", true), ("prewarm cache stats --job jobs/", "jobs/a.yaml", true),
    ("prewarm check --set ", "cache.mode=only", false), ("prewarm check --set ", "blacklist.enabled=true", false),
    ("prewarm validate --", "--progress", false),
  ]

  init() async throws {
    folder.write("", to: "jobs/a.yaml")
    folder.write("", to: "jobs/b.txt")
    for shell in ["bash", "zsh", "fish"] {
      let result = try await Command(BuiltCommand.path, ["--generate-completion-script", shell]).wait()
      #expect(result.status == 0)
      folder.write(result.outputText, to: shell == "zsh" ? "_prewarm" : "prewarm.\(shell)")
    }
  }

  @Test func `bash completes words, files and keys`() async throws {
    let load = """
      source /usr/share/bash-completion/bash_completion
      source ./prewarm.bash
      complete -p prewarm >/dev/null || exit 1
      offer() {
        COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
        read -ra COMP_WORDS <<<"$1"
        [[ $1 != *" " ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _prewarm prewarm "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\\n' "$1" "${COMPREPLY[@]}" ""
      }

      """
    try await expectOffers("bash", ["-n", "prewarm.bash"], load: load)
  }

  @Test func `fish completes words, files and keys`() async throws {
    let load = """
      source ./prewarm.fish
      function offer; echo "$argv"; complete -C "$argv"; echo; end

      """
    try await expectOffers("fish", ["--no-execute", "prewarm.fish"], load: load)
  }

  /// zsh completes only at a terminal.
  @Test func `zsh completes typed words`() async throws {
    let zsh = try Command(
      "/usr/bin/zsh",
      ["-f", "-i"],
      environment: ["TERM": "dumb", "HOME": folder.path],
      workingDirectory: folder.path,
      terminal: Command.Terminal(columns: 200)
    )
    zsh.write("fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; PROMPT='>'; echo rea''dy\n")
    try await zsh.waitForOutput("ready")
    for (typed, completed) in [
      ("prewarm run --order l\t", "--order lifo"), ("prewarm run --set prefetch.conc\t", "prefetch.concurrency=32"),
      ("prewarm cac\t", "prewarm cache"), ("prewarm validate jobs/\t", "jobs/a.yaml"), ("prewarm run --report ju\t", "junit=-"),
    ] {
      zsh.write(typed)
      try await zsh.waitForOutput(that: "completes \(typed)") { Self.withoutBackspaces($0).contains(completed) }
      // The line is cleared.
      zsh.write("\u{15}")
    }
  }

  /// Runs a script that prints completions of each line, after a run of the shell that only parses it.
  private func expectOffers(_ shell: String, _ check: [String], load: String) async throws {
    let path = "/usr/bin/\(shell)"
    let checked = try await Command(path, check, workingDirectory: folder.path).wait()
    #expect(checked.status == 0, "\(checked.errorText)")
    folder.write(load + Self.offers.map { "offer '\($0.line)'\n" }.joined(), to: "offer.\(shell)")
    let home: [String: String?] = ["HOME": folder.path, "XDG_CONFIG_HOME": nil]
    let result = try await Command(path, ["offer.\(shell)"], environment: home, workingDirectory: folder.path).wait()
    #expect(result.status == 0, "\(result.errorText)")
    let answers = result.outputText.components(separatedBy: "\n\n").map { $0.split(separator: "\n") }
    for (line, word, isOffered) in Self.offers {
      let answer = answers.first { $0.first.map(String.init) == line }?.dropFirst() ?? []
      #expect(!answer.isEmpty && answer.contains { offered($0) == word } == isOffered, "\(line): \(answer)")
      #expect(!answer.contains { $0.hasPrefix("jobs/b.txt") })
    }
  }

  /// Text for a dumb terminal moves back and overwrites.
  private static func withoutBackspaces(_ text: String) -> String { text.filter { $0 != "\u{8}" } }

  /// fish describes its offers after a tab.
  private func offered(_ line: Substring) -> String { line.split(separator: "\t")[0].trimmingCharacters(in: .whitespaces) }
}
