import ArgumentParser
import Glibc
import Reports
import WarmJobs

/// Reads job files for the commands that take them.
enum JobLoading {
  /// The jobs of `paths`; all errors of all files are printed before this throws exit status 3.
  static func jobs(at paths: [String], overrides: [JobOverride], display: DisplayOptions) throws -> [Job] {
    var jobs: [Job] = []
    var errors: [JobFileError] = []
    for path in paths {
      do {
        jobs.append(try JobFile.load(path: path, overrides: overrides, environment: environment()))
      } catch {
        errors += error.errors
      }
    }
    guard errors.isEmpty else { throw failure(JobFileErrors(errors), display) }
    return jobs
  }

  /// The end of a command whose jobs have errors, which it prints.
  static func failure(_ errors: JobFileErrors, _ display: DisplayOptions) -> ExitCode {
    writeToStandardError(errors.formatted(color: display.usesColor(on: STDERR_FILENO)))
    return ExitCode(ExitStatus.misused.rawValue)
  }

  /// The variables of the process.
  static func environment() -> [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      let pair = String(cString: text)
      if let equals = pair.firstIndex(of: "=") {
        variables[String(pair[..<equals])] = String(pair[pair.index(after: equals)...])
      }
      entry += 1
    }
    return variables
  }
}
