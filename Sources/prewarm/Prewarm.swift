import ArgumentParser
import Glibc
import ImageURLs
import Reports
import WarmJobs

/// The command.
@main struct Prewarm: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "prewarm",
    abstract: "Warm image caches and check image URLs.",
    discussion: """
      These variables set what neither the job file nor an option sets: PREWARM_CACHE_DIR (cache.directory), PREWARM_CONCURRENCY \
      (prefetch.concurrency), PREWARM_TIMEOUT (request.timeout), PREWARM_USER_AGENT (request.user-agent) and PREWARM_PROXY (request.proxy).
      """,
    version: PrewarmVersion.current,
    subcommands: [
      RunCommand.self, CheckCommand.self, InitCommand.self, ValidateCommand.self, ExplainCommand.self, CacheCommand.self,
      BlacklistCommand.self,
      ReportCommand.self,
    ] + queueCommands + [SchemaCommand.self]
  )

  private static var queueCommands: [any ParsableCommand.Type] {
    #if Queue
    [EnqueueCommand.self, WorkerCommand.self, QueueCommand.self]
    #else
    []
    #endif
  }

  /// Without a subcommand there is nothing to do.
  func run() throws {
    writeToStandardError(Self.helpMessage() + "\n")
    throw ExitCode(ExitStatus.misused.rawValue)
  }

  /// Runs a subcommand; every way to end is an exit status of the contract.
  static func main() {
    // A closed pipe is an error of a write, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    if isAskedForVersionAlone {
      writeToStandardOutput(PrewarmVersion.current + "\n")
      Glibc.exit(ExitStatus.withinLimits.rawValue)
    }
    do {
      try checkCommand(CommandLine.arguments.dropFirst())
      var command = try parseAsRoot()
      try command.run()
    } catch let failure as CommandError {
      Note.error(failure.description)
      Glibc.exit(failure.status.rawValue)
    } catch let status as ExitCode {
      Glibc.exit(status.rawValue)
    } catch {
      finish(with: error)
    }
  }

  /// Throws if a word that should be a command is none.
  private static func checkCommand(_ arguments: ArraySlice<String>) throws {
    var command: any ParsableCommand.Type = Prewarm.self
    var path = ""
    for word in arguments {
      let names = command.configuration.subcommands.compactMap { $0.configuration.commandName }
      if path.isEmpty, ["--quiet", "-q", "--verbose", "-v"].contains(word) { continue }
      if names.isEmpty || word.hasPrefix("-") && word != "-" || word == "help" { return }
      guard let next = command.configuration.subcommands.first(where: { $0.configuration.commandName == word }) else {
        throw CommandError(.misused, "'\(path)\(named(word))' is not a command; \(advice(word, names, path))")
      }
      command = next
      path += "\(word) "
    }
  }

  /// What to write in place of a word that is no command.
  private static func advice(_ word: String, _ names: [String], _ path: String) -> String {
    if let nearest = Suggestions.nearest(to: word, among: names) { return "did you mean '\(path)\(nearest)'?" }
    if path.isEmpty, Source.isLikely(word) {
      return "check its images with 'prewarm check \(named(word))', or warm a cache with 'prewarm run \(named(word))'"
    }
    return "the commands are \(names.joined(separator: ", "))"
  }

  /// Whether nothing else is asked, so that the parser need not look at all commands first.
  private static var isAskedForVersionAlone: Bool {
    guard CommandLine.argc == 2, let argument = CommandLine.unsafeArgv[1] else { return false }
    return strcmp(argument, "--version") == 0
  }

  /// Help and the version go to standard output and are no mistake; everything else that the parser says is one.
  private static func finish(with error: any Error) -> Never {
    let message = fullMessage(for: error)
    if exitCode(for: error).isSuccess {
      writeToStandardOutput(message + "\n")
      Glibc.exit(ExitStatus.withinLimits.rawValue)
    }
    // The parser quotes arguments, which may be URLs.
    let pieces = message.split(separator: "'", omittingEmptySubsequences: false).map { maskingCredentials(String($0)) }
    writeToStandardError(pieces.joined(separator: "'") + "\n")
    Glibc.exit(ExitStatus.misused.rawValue)
  }
}
