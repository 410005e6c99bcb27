import Foundation
import TestSupport
import Testing

/// The manual pages that scripts/manual makes from the built command.
@Suite struct ManualTests {
  private let folder = TemporaryDirectory()

  private func make(in name: String) async throws {
    let result = try await Command.run(
      "\(Repository.path)/scripts/manual",
      [folder.file(name), BuiltCommand.path],
      environment: ["SOURCE_DATE_EPOCH": "1763683200"]
    )
    #expect(result.status == 0, "\(result.errorText)")
  }

  @Test("mandoc accepts the manual without warnings") func mandocFindsNothingToWarnOf() async throws {
    try await make(in: "man")
    for page in ["man/prewarm.1", "man/prewarm-job.5"] {
      let lint = try await Command.run("/usr/bin/mandoc", ["-T", "lint", "-W", "warning", folder.file(page)])
      #expect(lint.status == 0 && lint.output.isEmpty && lint.error.isEmpty, "\(lint.outputText)\(lint.errorText)")
    }
  }

  @Test("every command, option and key is in the manual") func everyCommandOptionAndKeyHasItsPlace() async throws {
    try await make(in: "man")
    let page = try await text(of: "man/prewarm.1")
    for word in [
      "prewarm run", "prewarm cache export", "prewarm schema", "--order", "--set", "--to", "PREWARM_CACHE_DIR", "130, 143",
    ] {
      #expect(page.contains(word), "\(word)")
    }
    for section in ["SYNOPSIS", "COMMANDS", "OPTIONS", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO"] {
      #expect(page.contains("\n\(section)\n"), "\(section)")
    }
    #expect(page.contains("November 21, 2025"))
    let keys = try await text(of: "man/prewarm-job.5")
    for line in [
      "prefetch.order: fifo", "manifests[].columns.url: url", "request.backoff.initial: 500ms", "report[].html:",
      "fail-on.kinds: {}",
    ] {
      #expect(keys.contains(line), "\(line)")
    }
  }

  @Test("every environment variable is in the manual") func everyVariableThatIsReadIsInTheManual() async throws {
    try await make(in: "man")
    let page = try await text(of: "man/prewarm.1")
    let folder = URL(fileURLWithPath: "\(Repository.path)/Sources").resolvingSymlinksInPath().path
    let sources = try #require(FileManager.default.enumerator(atPath: folder))
    var names: Set<String> = []
    for case let file as String in sources where file.hasSuffix(".swift") {
      let source = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
      for match in source.matches(of: /(?:getenv\(|environment\[|variable\()"([A-Za-z_]+)"/) { names.insert(String(match.1)) }
    }
    #expect(names.count >= 6)
    for name in names.subtracting(["HOME"]) { #expect(page.contains(name), "\(name)") }
  }

  @Test("the same command makes the same pages") func theSameCommandMakesTheSamePages() async throws {
    try await make(in: "one")
    try await make(in: "two")
    for page in ["prewarm.1", "prewarm-job.5"] { #expect(folder.read("one/\(page)") == folder.read("two/\(page)")) }
  }

  /// The rendered page, without bold and underlining.
  private func text(of page: String) async throws -> String {
    let shown = try await Command.run("/usr/bin/mandoc", ["-T", "utf8", folder.file(page)])
    var text = ""
    for character in shown.outputText.unicodeScalars {
      if character == "\u{8}" { text.unicodeScalars.removeLast() } else { text.unicodeScalars.append(character) }
    }
    return text
  }
}
