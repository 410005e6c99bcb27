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

  private func pages() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.file("man")).sorted() }

  @Test func `mandoc accepts the manual without warnings`() async throws {
    try await make(in: "man")
    for page in try pages() {
      let lint = try await Command.run("/usr/bin/mandoc", ["-T", "lint", "-W", "warning", folder.file("man/\(page)")])
      let messages = lint.outputText.split(separator: "\n").filter { !$0.contains("referenced manual not found") }
      #expect(messages.isEmpty && lint.error.isEmpty, "\(lint.outputText)\(lint.errorText)")
    }
  }

  @Test func `every command has a page`() async throws {
    try await make(in: "man")
    let pages = try pages()
    for page in ["prewarm.1", "prewarm-job.5", "prewarm-run.1", "prewarm-check.1", "prewarm-cache-export.1", "prewarm-schema.1"] {
      #expect(pages.contains(page), "\(page)")
    }
    let overview = try await text(of: "man/prewarm.1")
    for page in pages where page.hasSuffix(".1") && page != "prewarm.1" {
      #expect(overview.contains("\(page.dropLast(2))(1)"), "\(page)")
    }
    for word in ["prewarm run [options] source ...", "PREWARM_CACHE_DIR", "130, 143", "November 21, 2025"] {
      #expect(overview.contains(word), "\(word)")
    }
    for section in ["SYNOPSIS", "COMMANDS", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO"] {
      #expect(overview.contains("\n\(section)\n"), "\(section)")
    }
  }

  @Test func `every option and key is in the manual`() async throws {
    try await make(in: "man")
    let run = try await text(of: "man/prewarm-run.1")
    for word in ["--order", "--set", "--cache-directory", "--adaptive", "130, 143", "Rare options", "prewarm run urls.txt"] {
      #expect(run.contains(word), "\(word)")
    }
    #expect(!(try await text(of: "man/prewarm-check.1")).contains("--cache-mode"))
    let keys = try await text(of: "man/prewarm-job.5")
    for line in [
      "prefetch.order: fifo", "manifests[].columns.url: url", "request.backoff.initial: 500ms", "report[].html:",
      "fail-on.kinds: {}",
    ] {
      #expect(keys.contains(line), "\(line)")
    }
    let parts = keys.components(separatedBy: "\nADVANCED KEYS\n")
    #expect(parts.count == 2 && parts[1].contains("request.retry-after-max: 2m") && !parts[0].contains("request.retry-after-max"))
  }

  @Test(arguments: ["mandoc", "groff"]) func `a synopsis has one line per form`(program: String) async throws {
    try await make(in: "man")
    for page in try pages() where page.hasSuffix(".1") {
      let text = try await text(of: "man/\(page)", with: program)
      let synopsis = text.components(separatedBy: "SYNOPSIS\n").dropFirst().joined().components(separatedBy: "\n\n")[0]
      let lines = synopsis.split(separator: "\n")
      #expect(
        !lines.isEmpty && lines.allSatisfy { $0.trimmingPrefix { $0 == " " }.hasPrefix("prewarm ") },
        "\(page): \(synopsis)"
      )
      #expect(page == "prewarm.1" ? lines.count > 20 : lines.count == 1, "\(page): \(synopsis)")
    }
  }

  @Test func `every environment variable is in the manual`() async throws {
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

  @Test func `the same command makes the same pages`() async throws {
    try await make(in: "one")
    try await make(in: "two")
    for page in ["prewarm.1", "prewarm-run.1", "prewarm-job.5"] {
      #expect(folder.read("one/\(page)") == folder.read("two/\(page)"))
    }
  }

  /// The rendered page, without bold and underlining.
  private func text(of page: String, with program: String = "mandoc") async throws -> String {
    let arguments = program == "mandoc" ? ["-T", "utf8"] : ["-m", "man", "-m", "doc", "-T", "utf8", "-P", "-cbou"]
    let shown = try await Command.run("/usr/bin/\(program)", arguments + [folder.file(page)])
    var text = ""
    for character in shown.outputText.unicodeScalars {
      if character == "\u{8}" { text.unicodeScalars.removeLast() } else { text.unicodeScalars.append(character) }
    }
    return text
  }
}
