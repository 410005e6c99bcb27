import Foundation
import TestSupport
import Testing

/// The help of every command.
@Suite struct HelpTests {
  /// A part of what `--experimental-dump-help` prints.
  private struct Tool: Decodable { let command: CommandHelp }

  private struct CommandHelp: Decodable {
    let commandName: String
    let abstract, discussion: String?
    let subcommands: [CommandHelp]?
    let arguments: [ArgumentHelp]?

    /// The words after `prewarm` of this command and all commands below it.
    func all(_ path: [String] = []) -> [(path: [String], help: CommandHelp)] {
      [(path, self)] + (subcommands ?? []).filter { $0.commandName != "help" }.flatMap { $0.all(path + [$0.commandName]) }
    }

    var isLeaf: Bool { (subcommands ?? []).allSatisfy { $0.commandName == "help" } }
    var examples: [Substring] {
      (discussion ?? "").components(separatedBy: "EXAMPLES:\n").dropFirst().joined().components(separatedBy: "\n\n")[0]
        .split(separator: "\n")
    }
  }

  private struct ArgumentHelp: Decodable {
    let abstract, sectionTitle, valueName: String?
    let shouldDisplay: Bool
  }

  private let commands: [(path: [String], help: CommandHelp)]

  init() async throws {
    let dump = try await Command(BuiltCommand.path, ["--experimental-dump-help"]).wait()
    commands = try JSONDecoder().decode(Tool.self, from: Data(dump.output)).command.all()
  }

  @Test func `every summary has at most 70 characters and no full stop`() async throws {
    for (path, help) in commands {
      let options = (help.arguments ?? []).filter { !["help", "version"].contains($0.valueName) }
      for summary in [help.abstract] + options.filter({ $0.shouldDisplay || $0.sectionTitle == "Rare options" }).map(\.abstract) {
        let summary = try #require(summary, "\(path)")
        #expect((1...70).contains(summary.count) && !summary.hasSuffix(".") && summary.first!.isUppercase, "\(path): \(summary)")
      }
    }
  }

  @Test func `every command has one to three examples, and names its rare options`() async throws {
    for (path, help) in commands where help.isLeaf {
      #expect((1...3).contains(help.examples.count), "\(path)")
      #expect(help.examples.allSatisfy { $0.hasPrefix("  prewarm \(path.joined(separator: " "))") }, "\(path)")
      let hasRareOptions = (help.arguments ?? []).contains { $0.sectionTitle == "Rare options" }
      #expect(hasRareOptions == help.discussion?.contains("--help-hidden"), "\(path)")
    }
  }

  @Test(arguments: [60, 80]) func `tables and examples survive wrapping, and examples end the help`(columns: Int) async throws {
    for (path, help) in commands where help.isLeaf {
      let result = try await Command(BuiltCommand.path, path + ["--help"], environment: ["COLUMNS": "\(columns)"]).wait()
      let lines = result.outputText.split(separator: "\n")
      let laidOut = (help.discussion ?? "").split(separator: "\n").filter { $0.hasPrefix("  ") }
      for line in laidOut { #expect(lines.contains(line), "\(path): \(line)") }
      let last = lines.last { !$0.contains("--help-hidden") }
      #expect(last == help.examples.last, "\(path): \(last ?? "")")
      #expect(lines.contains { $0.hasPrefix("USAGE: prewarm") })
    }
  }

  @Test func `rare options are shown on request only`() async throws {
    let help = try await Command(BuiltCommand.path, ["run", "--help"]).wait().outputText
    let hidden = try await Command(BuiltCommand.path, ["run", "--help-hidden"]).wait().outputText
    #expect(!help.contains("--verify-hits") && hidden.contains("--verify-hits"))
  }

  @Test func `the references are those that scripts/manual writes`() async throws {
    let folder = TemporaryDirectory()
    let result = try await Command("\(Repository.path)/scripts/manual", ["--markdown", folder.path, BuiltCommand.path]).wait()
    #expect(result.status == 0, "\(result.errorText)")
    for page in ["JobFile.md", "CommandLine.md"] {
      let isEqual = readFile("\(Repository.path)/Sources/prewarm/Documentation.docc/\(page)") == folder.read(page)
      #expect(isEqual, "\(page) is out of date; run: scripts/manual --markdown")
    }
  }
}
