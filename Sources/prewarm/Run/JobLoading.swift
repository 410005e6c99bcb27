import ArgumentParser
import Glibc
import Reports
import Jobs

/// Loads job files.
enum JobLoading {
  /// Returns the jobs of `paths`; prints the errors of all files before it throws exit status 3.
  static func jobs(at paths: [String], overrides: [JobOverride], display: Display) throws -> [Job] {
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

  /// Prints the errors and returns the exit status of a command with invalid jobs.
  static func failure(_ errors: JobFileErrors, _ display: Display) -> ExitCode {
    writeToStandardError(errors.formatted(color: display.usesColor(on: STDERR_FILENO)))
    return ExitCode(ExitStatus.misused.rawValue)
  }

  /// The environment variables of the process.
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
