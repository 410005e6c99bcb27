import ArgumentParser
import Glibc
import ImageCaching
import ImageCoding
import ImageManaging
import Base
import Reports
import Jobs

/// A command that only has others.
protocol GroupCommand: ParsableCommand {}

extension GroupCommand {
  func run() throws {
    let names = JobForm.alternatives(Self.configuration.subcommands.map { $0._commandName })
    throw CommandError(.misused, "prewarm \(Self._commandName) needs a command: \(names)")
  }
}

@main struct Prewarm: ParsableCommand {
  // Each command has its name written: ArgumentParser asks every command of the tree for it at start, and to derive one from its type
  // costs 0.1 ms.
  static let configuration = CommandConfiguration(
    commandName: "prewarm",
    abstract: "Warm image caches and check image URLs",
    discussion: """
      EXAMPLES:
        prewarm check https://www.example.com/sitemap.xml
        prewarm run urls.txt
        prewarm init homepage.yaml && prewarm run homepage.yaml

      Environment variables and files: man prewarm
      """,
    version: PrewarmVersion.current,
    subcommands: [
      RunCommand.self, CheckCommand.self, InitCommand.self, CacheCommand.self, ReportCommand.self, ExplainCommand.self,
    ],
    groupedSubcommands: [
      CommandGroup(
        name: "More",
        subcommands: [ValidateCommand.self, BlacklistCommand.self, ShardsCommand.self, SchemaCommand.self, DoctorCommand.self]
      )
    ]
  )

  func run() throws {
    writeToStandardError(Self.arranged(Self.helpMessage()) + "\n")
    throw ExitCode(ExitStatus.misused.rawValue)
  }

  /// Runs a subcommand and exits with a documented status.
  static func main() {
    if CommandLine.arguments.dropFirst() == [DecodingTemplate.argument] { DecodingTemplate.run() }
    if CommandLine.arguments.contains("--exit-with-parent") { ParentWatch.start() }
    // Writing to a closed pipe is an error, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    if isAskedForVersionAlone {
      writeToStandardOutput(PrewarmVersion.current + "\n")
      Glibc.exit(ExitStatus.withinLimits.rawValue)
    }
    do {
      try checkCommand(CommandLine.arguments.dropFirst())
      var command = try parseAsRoot()
      try command.run()
    } catch {
      Glibc.exit(status(of: error))
    }
  }

  /// Prints an error, and returns the exit status.
  private static func status(of error: any Error) -> Int32 {
    switch error {
    case let status as ExitCode: return status.rawValue
    // The reader of standard output wanted no more, as in `| head`.
    case let error as ReportError where error.isReaderGone: return 128 + SIGPIPE
    case is CommandError, is CacheError, is JobError, is ReportError, is ReportReadingError, is ImageManagerError:
      Note.error(jobSentence(of: error))
      return ((error as? CommandError)?.status ?? .couldNotFinish).rawValue
    default: return report(error)
    }
  }

  /// Throws if a word in the place of a command isn't one.
  private static func checkCommand(_ arguments: ArraySlice<String>) throws {
    var command: any ParsableCommand.Type = Prewarm.self
    var path = ""
    for word in arguments {
      let names = command.configuration.subcommands.map { $0._commandName }
      if path.isEmpty, ["--quiet", "-q", "--verbose", "-v"].contains(word) { continue }
      if names.isEmpty || word.hasPrefix("-") && word != "-" || word == "help" { return }
      guard let next = command.configuration.subcommands.first(where: { $0._commandName == word }) else {
        throw CommandError(.misused, "'\(path)\(named(word))' isn't a command; \(advice(word, names, path))")
      }
      command = next
      path += "\(word) "
    }
  }

  /// The advice for a word that isn't a command.
  private static func advice(_ word: String, _ names: [String], _ path: String) -> String {
    if let nearest = Suggestions.nearest(to: word, among: names) { return "did you mean '\(path)\(nearest)'?" }
    if path.isEmpty, Source.isLikely(word) {
      return "use 'prewarm check \(named(word))' to check its images, or 'prewarm run \(named(word))' to warm a cache"
    }
    return "the commands are \(names.joined(separator: ", "))"
  }

  /// Whether only the version is requested; then the parser, which reads all commands first, isn't needed.
  private static var isAskedForVersionAlone: Bool {
    guard CommandLine.argc == 2, let argument = CommandLine.unsafeArgv[1] else { return false }
    return strcmp(argument, "--version") == 0
  }

  /// Moves the sections at the end of a command's discussion behind the options: ArgumentParser prints all of it before the usage.
  private static func arranged(_ help: String) -> String {
    // ArgumentParser adds a word to the name of a group.
    let help = help.replacing("\nMORE SUBCOMMANDS:\n", with: "\nMORE:\n")
    let titles = ["\nEXIT STATUS:\n", "\nEXAMPLES:\n"]
    guard let usage = help.firstRange(of: "\nUSAGE: ")?.lowerBound,
      let start = titles.compactMap({ help.firstRange(of: $0)?.lowerBound }).min(), start < usage
    else { return help }
    let options = shortened(help[usage...]).reversed().drop { $0 == "\n" }.reversed()
    let sections = help[start..<usage].reversed().drop { $0 == "\n" }.reversed()
    return String(help[..<start]) + String(options) + "\n" + String(sections)
  }

  /// Replaces the options in the usage by `[<options>]`: ArgumentParser writes up to a dozen on one line, however long.
  private static func shortened(_ help: Substring) -> String {
    let end = help.firstRange(of: "\n\n")?.lowerBound ?? help.endIndex
    let options = /( \[-[^\]]*\])+/
    let usage = String(help[..<end]).replacing(options, with: "\0", maxReplacements: 1).replacing(options, with: "")
    return usage.replacing("\0", with: " [<options>]") + help[end...]
  }

  /// Prints what the parser reports, and returns the exit status: help and the version to standard output, errors to standard error.
  private static func report(_ error: any Error) -> Int32 {
    let message = fullMessage(for: error)
    if exitCode(for: error).isSuccess {
      writeToStandardOutput(arranged(message) + "\n")
      return ExitStatus.withinLimits.rawValue
    }
    // The parser quotes arguments, which may be URLs with credentials.
    let pieces = message.split(separator: "'", omittingEmptySubsequences: false).map { maskingCredentials(String($0)) }
    writeToStandardError(pieces.joined(separator: "'") + "\n")
    return ExitStatus.misused.rawValue
  }
}
