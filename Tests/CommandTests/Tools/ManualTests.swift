import Foundation
import TestSupport
import Testing

/// The manual pages that scripts/manual makes from the built command.
@Suite struct ManualTests {
  private let folder: TemporaryDirectory

  /// Made once, since the script asks the command for each page.
  private static let made = Task { try await make() }

  init() async throws { folder = try await Self.made.value }

  private static func make() async throws -> TemporaryDirectory {
    let folder = TemporaryDirectory()
    let environment = ["SOURCE_DATE_EPOCH": "1763683200"]
    let result = try await Command(
      "\(Repository.path)/scripts/manual",
      [folder.path, BuiltCommand.path],
      environment: environment
    ).wait()
    try #require(result.status == 0, "\(result.errorText)")
    return folder
  }

  private func pages() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }

  @Test func `mandoc accepts the manual without warnings`() async throws {
    for page in try pages() {
      let lint = try await Command("/usr/bin/mandoc", ["-T", "lint", "-W", "warning", folder.file(page)]).wait()
      let messages = lint.outputText.split(separator: "\n").filter { !$0.contains("referenced manual not found") }
      #expect(messages.isEmpty && lint.error.isEmpty, "\(lint.outputText)\(lint.errorText)")
    }
  }

  /// The guides' references, which come from the same script, have all options and keys.
  @Test func `each page has its sections, options and keys, and the overview has every page`() async throws {
    let overview = try await text(of: "prewarm.1")
    for page in try pages() where page.hasSuffix(".1") && page != "prewarm.1" {
      #expect(overview.contains("\(page.dropLast(2))(1)"), "\(page)")
    }
    let sections = ["SYNOPSIS", "COMMANDS", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO"].map { "\n\($0)\n" }
    for (page, words) in [
      ("prewarm.1", ["prewarm run [options] source ...", "PREWARM_CACHE_DIR", "130, 143", "November 21, 2025"] + sections),
      ("prewarm-run.1", ["--order", "--set", "130, 143", "Rare options", "prewarm run urls.txt"]),
      ("prewarm-cache-export.1", ["--layout"]),
      (
        "prewarm-job.5",
        ["prefetch.order: fifo", "manifests[].columns.url: url", "request.backoff.initial: 500ms", "report[].html:"]
      ),
    ] {
      let text = try await text(of: page)
      for word in words { #expect(text.contains(word), "\(page): \(word)") }
    }
    let keys = try await text(of: "prewarm-job.5").components(separatedBy: "\nADVANCED KEYS\n")
    #expect(keys.count == 2 && keys[1].contains("request.retry-after-max: 2m") && !keys[0].contains("request.retry-after-max"))
    #expect(try await !text(of: "prewarm-check.1").contains("--cache-mode"))
  }

  @Test(arguments: ["mandoc", "groff"]) func `a synopsis has one line per form`(program: String) async throws {
    for page in try pages() where page.hasSuffix(".1") {
      let text = try await text(of: page, with: program)
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
    let page = try await text(of: "prewarm.1")
    let folder = "\(Repository.path)/Sources"
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
    let again = try await Self.make()
    for page in try pages() { #expect(again.read(page) == folder.read(page)) }
  }

  /// The rendered page, without bold and underlining.
  private func text(of page: String, with program: String = "mandoc") async throws -> String {
    let arguments = program == "mandoc" ? ["-T", "utf8"] : ["-m", "man", "-m", "doc", "-T", "utf8", "-P", "-cbou"]
    let shown = try await Command("/usr/bin/\(program)", arguments + [folder.file(page)]).wait()
    var text = ""
    for character in shown.outputText.unicodeScalars {
      if character == "\u{8}" { text.unicodeScalars.removeLast() } else { text.unicodeScalars.append(character) }
    }
    return text
  }
}
